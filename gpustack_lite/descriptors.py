"""How many files a process may have open; every connection is one."""

import resource

_PLENTY = 65_536


def raise_limit() -> int:
    """To what the machine allows, because shells and systemd begin with 1024; answers with the limit that holds now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _PLENTY if hard == resource.RLIM_INFINITY else hard
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return max(soft, wanted)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
