"""`gpustack-lite users`: who may sign in."""

from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_document, show_list
from gpustack_lite.cli.say import say, tell

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_users"))
COLUMNS = (Column("username"), Column("role"), Column("active"), Column("must_change_password"), Column("created_at"))


@app.command("list", help=say("help_users_list"))
def list_users(output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_list(client.listed("users"), COLUMNS, output)


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
