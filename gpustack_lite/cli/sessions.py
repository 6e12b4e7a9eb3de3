"""`gpustack-lite sessions`: who is signed in, from where, and ending that."""

from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_done, show_list
from gpustack_lite.cli.say import say

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_sessions"))
COLUMNS = (
    Column("id"),
    Column("user"),
    Column("address"),
    Column("user_agent"),
    Column("created_at"),
    Column("seen_at"),
    Column("expires_at"),
)


@app.command("list", help=say("help_sessions_list"))
def list_sessions(
    user: Annotated[str | None, typer.Option(metavar="USERNAME", help=say("help_sessions_user"))] = None,
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        show_list(client.listed("sessions", user=user), COLUMNS, output)


@app.command("end", help=say("help_sessions_end"))
def end(
    session_id: Annotated[int, typer.Argument(metavar="ID", help=say("help_session_id"))],
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        client.delete("sessions", session_id)
    show_done({"id": session_id, "ended": True}, output, "session_is_ended", id=session_id)
