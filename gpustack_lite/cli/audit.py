"""`gpustack-lite audit`: who changed what, and whether the log of it is whole."""

import asyncio
from enum import StrEnum
from typing import Annotated, Any

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_document, show_list
from gpustack_lite.cli.say import say, tell, write
from gpustack_lite.domain import Sentence
from gpustack_lite.messages import language_of_terminal, localise, text

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_audit"))
COLUMNS = (
    *(Column("id"), Column("at"), Column("actor"), Column("carrier"), Column("address")),
    *(Column("action"), Column("kind"), Column("name")),
    Column("fields", lambda row: sorted({**(row["before"] or {}), **(row["after"] or {})})),
)
Actor = Annotated[str | None, typer.Option(metavar="USERNAME", help=say("help_audit_actor"))]
Kind = Annotated[str | None, typer.Option(metavar="KIND", help=say("help_audit_kind"))]
Name = Annotated[str | None, typer.Option(metavar="NAME", help=say("help_audit_name"))]
Action = Annotated[str | None, typer.Option(metavar="ACTION", help=say("help_audit_action"))]
Address = Annotated[str | None, typer.Option(metavar="ADDRESS", help=say("help_audit_address"))]
Since = Annotated[str | None, typer.Option(metavar="TIME", help=say("help_audit_since"))]
Until = Annotated[str | None, typer.Option(metavar="TIME", help=say("help_audit_until"))]


class Shape(StrEnum):
    """Of an export."""

    JSONL = "jsonl"
    CSV = "csv"


@app.command("list", help=say("help_audit_list"), epilog=say("help_audit_list_examples"))
def list_audit(
    actor: Actor = None,
    kind: Kind = None,
    name: Name = None,
    action: Action = None,
    address: Address = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, help=say("help_audit_limit"))] = 50,
    output: Output = Format.TABLE,
) -> None:
    sought = _sought(actor=actor, kind=kind, name=name, action=action, address=address, since=since, until=until)
    with connect() as client:
        show_list(client.listed("audit", limit=limit, **sought), COLUMNS, output)


@app.command("export", help=say("help_audit_export"))
def export(
    actor: Actor = None,
    kind: Kind = None,
    name: Name = None,
    action: Action = None,
    address: Address = None,
    since: Since = None,
    until: Until = None,
    shape: Annotated[Shape, typer.Option("--format", help=say("help_audit_format"))] = Shape.JSONL,
) -> None:
    sought = _sought(actor=actor, kind=kind, name=name, action=action, address=address, since=since, until=until)
    with connect() as client:
        for piece in client.text("audit", "export", format=shape.value, **sought):
            typer.echo(piece, nl=False)


@app.command("verify", help=say("help_audit_verify"), epilog=say("help_audit_verify_examples"))
def verify(
    database: Annotated[str | None, typer.Option(metavar="FILE|URL", help=say("help_audit_database"))] = None,
    noted: Annotated[str | None, typer.Option(metavar="ROW:DIGEST", help=say("help_audit_noted"))] = None,
    output: Output = Format.TABLE,
) -> None:
    found = _asked(noted) if database is None else _read(database, noted)
    if output is not Format.TABLE:
        show_document(found, output)
    elif found["ok"]:
        tell("audit_whole", checked=found["checked"], trimmed=found["trimmed"])
        tell("audit_head_is", head=found["head"])
    else:
        fault = text(Sentence(found["fault"]["code"], found["fault"]["params"]), language_of_terminal())
        write(say("audit_broken", fault=fault))
    if not found["ok"]:
        raise typer.Exit(1)


def _sought(**given: str | None) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _asked(noted: str | None) -> dict[str, Any]:
    with connect() as client:
        found: dict[str, Any] = client.get("audit", "verify", **_sought(noted=noted))
    return found


def _read(database: str, noted: str | None) -> dict[str, Any]:
    from gpustack_lite.api.auditlog import noted_of
    from gpustack_lite.db.offline import verified

    found: dict[str, Any] = localise(asyncio.run(verified(database, noted_of(noted))), language_of_terminal())
    return found
