"""`gpustack-lite secrets`: what the platform needs in clear and nobody is shown again."""

import sys
from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_done, show_list
from gpustack_lite.cli.say import say

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_secrets"))
Name = Annotated[str, typer.Argument(metavar="NAME", help=say("help_secret_name"))]
COLUMNS = (
    Column("name"),
    Column("is_set"),
    Column("ending"),
    Column("set_by"),
    Column("set_at"),
    Column("used_for", lambda secret: secret["message"]),
)


@app.command("list", help=say("help_secrets_list"))
def list_secrets(output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_list(client.get("secrets"), COLUMNS, output)


@app.command("set", help=say("help_secrets_set"), epilog=say("help_secrets_set_examples"))
def set_secret(name: Name, output: Output = Format.TABLE) -> None:
    value: str = typer.prompt(say("secret_value"), hide_input=True, err=True) if _is_terminal() else sys.stdin.read()
    with connect() as client:
        secret = client.put("secrets", name, body={"value": value.strip()})
    show_done(secret, output, "secret_is_set", name=name)


def _is_terminal() -> bool:
    return sys.stdin.isatty()


@app.command("delete", help=say("help_secrets_delete"))
def delete(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        client.delete("secrets", name)
    show_done({"name": name, "deleted": True}, output, "secret_deleted", name=name)


@app.command("rotate-key", help=say("help_secrets_rotate_key"))
def rotate_key(output: Output = Format.TABLE) -> None:
    with connect() as client:
        done = client.post("secrets", "rotate-key")
    show_done(done, output, "secrets_sealed_anew", count=done["sealed_anew"])
