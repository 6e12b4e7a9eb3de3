"""`gpustack-lite keys`: API keys for programs."""

from datetime import timedelta
from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_document, show_done, show_list
from gpustack_lite.cli.say import say, tell
from gpustack_lite.ports import Ports

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_keys"))
Name = Annotated[str, typer.Argument(metavar="NAME", help=say("help_key_name"))]
COLUMNS = (
    Column("name"),
    Column("prefix"),
    Column("user"),
    Column("scopes"),
    Column("models"),
    Column("expires_at"),
    Column("last_used_at"),
)


@app.command("create", help=say("help_keys_create"), epilog=say("help_keys_create_examples"))
def create(
    name: Name,
    scope: Annotated[list[str] | None, typer.Option(metavar="SCOPE", help=say("help_scope"))] = None,
    model: Annotated[list[str] | None, typer.Option(metavar="NAME", help=say("help_key_model"))] = None,
    days: Annotated[float | None, typer.Option(min=0.001, metavar="DAYS", help=say("help_key_days"))] = None,
    output: Output = Format.TABLE,
) -> None:
    ends = None if days is None else (Ports().clock.wall() + timedelta(days=days)).isoformat()
    body = {"name": name, "scopes": scope or ["inference"], "models": model or ["*"], "expires_at": ends}
    with connect() as client:
        made = client.post("keys", body=body)
    if output is Format.TABLE:
        tell("key_made", name=made["name"], key=made["key"])
    else:
        show_document(made, output)


@app.command("list", help=say("help_keys_list"))
def list_keys(output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_list(client.listed("keys"), COLUMNS, output)


@app.command("delete", help=say("help_keys_delete"))
def delete(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        client.delete("keys", name)
    show_done({"name": name, "deleted": True}, output, "key_deleted", name=name)
