"""`gpustack-lite users`: who may sign in."""

import sys
from typing import Annotated, Any

import typer

from gpustack_lite.cli import limits
from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_document, show_done, show_list
from gpustack_lite.cli.say import say, tell

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_users"))
COLUMNS = (
    Column("username"),
    Column("role"),
    Column("active"),
    Column("must_change_password"),
    Column("last_login_at"),
    Column("created_at"),
)
Username = Annotated[str, typer.Argument(metavar="USERNAME", help=say("help_username"))]
RoleOption = typer.Option("--role", metavar="admin|user|viewer", help=say("help_role"))


@app.command("list", help=say("help_users_list"))
def list_users(output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_list(client.listed("users"), COLUMNS, output)


@app.command("create", help=say("help_users_create"), epilog=say("help_users_create_examples"))
def create(
    username: Username,
    role: Annotated[str, RoleOption] = "user",
    password_stdin: Annotated[bool, typer.Option("--password-stdin", help=say("help_first_password_stdin"))] = False,
    output: Output = Format.TABLE,
) -> None:
    body: dict[str, Any] = {"username": username, "role": role}
    if password_stdin:
        body["password"] = _line()
    with connect() as client:
        made = client.post("users", body=body)
    if output is not Format.TABLE:
        show_document(made, output)
    elif made["password"] is None:
        tell("user_made", name=username)
    else:
        tell("user_made_with", name=username, password=made["password"])


@app.command("show", help=say("help_users_show"))
def show(username: Username, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_document(client.get("users", username), output)


@app.command("update", help=say("help_users_update"), epilog=say("help_users_update_examples"))
def update(
    username: Username,
    role: Annotated[str | None, RoleOption] = None,
    rpm: limits.Rpm = None,
    tpm: limits.Tpm = None,
    concurrency: limits.Concurrency = None,
    tokens_per_day: limits.PerDay = None,
    tokens_per_month: limits.PerMonth = None,
    timezone: limits.Timezone = None,
    output: Output = Format.TABLE,
) -> None:
    wanted = limits.limits_of(
        rpm=rpm,
        tpm=tpm,
        concurrency=concurrency,
        tokens_per_day=tokens_per_day,
        tokens_per_month=tokens_per_month,
        timezone=timezone,
    )
    patch = {"role": role, "limits": wanted or None}
    patch = {field: value for field, value in patch.items() if value is not None}
    if not patch:
        raise typer.BadParameter(say("nothing_to_change"))
    with connect() as client:
        user = client.patch("users", username, body=patch)
    show_done(user, output, "user_updated", name=username)


@app.command("deactivate", help=say("help_users_deactivate"))
def deactivate(username: Username, output: Output = Format.TABLE) -> None:
    with connect() as client:
        user = client.patch("users", username, body={"active": False})
    show_done(user, output, "user_deactivated", name=username)


@app.command("activate", help=say("help_users_activate"))
def activate(username: Username, output: Output = Format.TABLE) -> None:
    with connect() as client:
        user = client.patch("users", username, body={"active": True})
    show_done(user, output, "user_activated", name=username)


@app.command("delete", help=say("help_users_delete"))
def delete(username: Username, output: Output = Format.TABLE) -> None:
    with connect() as client:
        client.delete("users", username)
    show_done({"username": username, "deleted": True}, output, "user_deleted", name=username)


@app.command("password", help=say("help_users_password"))
def password(
    stdin: Annotated[bool, typer.Option("--password-stdin", help=say("help_both_passwords_stdin"))] = False,
    output: Output = Format.TABLE,
) -> None:
    current, new = (_line(), _line()) if stdin else (_asked("current_password"), _asked("new_password", twice=True))
    with connect() as client:
        client.post("auth", "password", body={"current": current, "new": new})
    show_done({"changed": True}, output, "password_is_changed")


def _line() -> str:
    return sys.stdin.readline().rstrip("\n")


def _asked(code: str, *, twice: bool = False) -> str:
    answer: str = typer.prompt(say(code), hide_input=True, err=True, confirmation_prompt=twice)
    return answer


@app.command("reset-password", help=say("help_users_reset"))
def reset_password(
    username: Username = "admin",
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        reset = client.post("users", username, "reset-password")
    if output is Format.TABLE:
        tell("password_reset", username=reset["username"], password=reset["password"])
    else:
        show_document(reset, output)
