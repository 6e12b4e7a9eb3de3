"""`gpustack-lite users`: who may sign in."""

from typing import Annotated

import typer

from gpustack_lite.cli import limits
from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_document, show_done, show_list
from gpustack_lite.cli.say import say, tell

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_users"))
COLUMNS = (Column("username"), Column("role"), Column("active"), Column("must_change_password"), Column("created_at"))


@app.command("list", help=say("help_users_list"))
def list_users(output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_list(client.listed("users"), COLUMNS, output)


@app.command("update", help=say("help_users_update"), epilog=say("help_users_update_examples"))
def update(
    username: Annotated[str, typer.Argument(metavar="USERNAME", help=say("help_username"))],
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
    if not wanted:
        raise typer.BadParameter(say("nothing_to_change"))
    with connect() as client:
        user = client.patch("users", username, body={"limits": wanted})
    show_done(user, output, "user_updated", name=username)


@app.command("reset-password", help=say("help_users_reset"))
def reset_password(
    username: Annotated[str, typer.Argument(metavar="USERNAME", help=say("help_username"))] = "admin",
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        reset = client.post("users", username, "reset-password")
    if output is Format.TABLE:
        tell("password_reset", username=reset["username"], password=reset["password"])
    else:
        show_document(reset, output)
