"""Becomes an engine, confined: `confined.py RULES -- PROGRAM ARGUMENT...`, RULES being JSON. Standard library only.

The pid, the session and the output stay what they were: nothing is left of this program once the engine runs.
"""

import ctypes
import json
import os
import resource
import sys

PR_SET_NO_NEW_PRIVS = 38
CANNOT_CONFINE, CANNOT_RUN = 126, 127


def main(arguments: "list[str]") -> None:
    """What must not fail ends it: an engine that would run as somebody else does not run at all."""
    rules, program = json.loads(arguments[0]), arguments[2:]
    try:
        join(rules.get("group"))
        os.umask(rules.get("umask", 0o077))
        become(rules.get("user"))
        gain_nothing_more()
    except OSError as error:
        end(CANNOT_CONFINE, f"the engine could not be confined: {error}")
    for name, most in rules.get("limits", {}).items():
        lower(getattr(resource, f"RLIMIT_{name}"), most)
    try:
        os.execvpe(program[0], program, os.environ)  # noqa: S606  # what the worker says, and no shell
    except OSError as error:
        end(CANNOT_RUN, f"{program[0]} could not be run: {error.strerror}")


def join(group: "str | None") -> None:
    if group is not None:
        with open(os.path.join(group, "cgroup.procs"), "w") as file:
            file.write(str(os.getpid()))


def become(user: "dict[str, object] | None") -> None:
    """Groups first: whoever has given up root cannot choose them any more."""
    if user is not None:
        os.setgroups(user["groups"])
        os.setresgid(user["gid"], user["gid"], user["gid"])
        os.setresuid(user["uid"], user["uid"], user["uid"])


def gain_nothing_more() -> None:
    """prctl(2): no program that is run from here on gains rights by its set-user-id bit or its file capabilities."""
    if sys.platform == "linux" and ctypes.CDLL(None, use_errno=True).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_NO_NEW_PRIVS")


def lower(limit: int, most: int) -> None:
    """Both, as far as the one above allows; a limit that is lower already stays."""
    _, hard = resource.getrlimit(limit)
    made = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limit, (made, made))


def end(code: int, why: str) -> None:
    sys.stderr.write(f"gpustack-lite: {why}\n")
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
