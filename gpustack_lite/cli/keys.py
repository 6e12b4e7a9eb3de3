"""`gpustack-lite keys`: API keys for programs."""

from datetime import timedelta
from typing import Annotated, Any

import typer

from gpustack_lite.cli import limits
from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_document, show_done, show_list
from gpustack_lite.cli.say import say, tell
from gpustack_lite.ports import Ports

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_keys"))
Name = Annotated[str, typer.Argument(metavar="NAME", help=say("help_key_name"))]
Weight = Annotated[int | None, typer.Option("--weight", min=1, max=1000, metavar="N", help=say("help_key_weight"))]
COLUMNS = (
    Column("name"),
    Column("prefix"),
    Column("user"),
    Column("enabled"),
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
    rpm: limits.Rpm = None,
    tpm: limits.Tpm = None,
    concurrency: limits.Concurrency = None,
    tokens_per_day: limits.PerDay = None,
    tokens_per_month: limits.PerMonth = None,
    timezone: limits.Timezone = None,
    weight: Weight = None,
    output: Output = Format.TABLE,
) -> None:
    body: dict[str, Any] = {"name": name, "scopes": scope or ["inference"], "models": model or ["*"]}
    body["expires_at"] = _in(days)
    body["limits"] = limits.limits_of(
        rpm=rpm,
        tpm=tpm,
        concurrency=concurrency,
        tokens_per_day=tokens_per_day,
        tokens_per_month=tokens_per_month,
        timezone=timezone,
    )
    body |= {} if weight is None else {"weight": weight}
    with connect() as client:
        made = client.post("keys", body=body)
    if output is Format.TABLE:
        tell("key_made", name=made["name"], key=made["key"])
    else:
        show_document(made, output)


@app.command("update", help=say("help_keys_update"), epilog=say("help_keys_update_examples"))
def update(
    name: Name,
    days: Annotated[float | None, typer.Option(min=0.001, metavar="DAYS", help=say("help_key_days"))] = None,
    enable: Annotated[bool | None, typer.Option("--enable/--disable", help=say("help_key_enable"))] = None,
    rpm: limits.Rpm = None,
    tpm: limits.Tpm = None,
    concurrency: limits.Concurrency = None,
    tokens_per_day: limits.PerDay = None,
    tokens_per_month: limits.PerMonth = None,
    timezone: limits.Timezone = None,
    weight: Weight = None,
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
    patch = {"expires_at": _in(days), "enabled": enable, "limits": wanted or None, "weight": weight}
    patch = {field: value for field, value in patch.items() if value is not None}
    if not patch:
        raise typer.BadParameter(say("nothing_to_change"))
    with connect() as client:
        key = client.patch("keys", name, body=patch)
    show_done(key, output, "key_updated", name=name)


def _in(days: float | None) -> str | None:
    return None if days is None else (Ports().clock.wall() + timedelta(days=days)).isoformat()


@app.command("rotate", help=say("help_keys_rotate"), epilog=say("help_keys_rotate_examples"))
def rotate(
    name: Name,
    overlap: Annotated[int, typer.Option("--overlap", min=0, metavar="SECONDS", help=say("help_overlap"))] = 0,
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        made = client.post("keys", name, "rotate", body={"overlap_seconds": overlap})
    if output is Format.TABLE:
        tell("key_made", name=made["name"], key=made["key"])
    else:
        show_document(made, output)


@app.command("list", help=say("help_keys_list"))
def list_keys(output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_list(client.listed("keys"), COLUMNS, output)


@app.command("show", help=say("help_keys_show"))
def show(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_document(client.get("keys", name), output)


@app.command("delete", help=say("help_keys_delete"))
def delete(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        client.delete("keys", name)
    show_done({"name": name, "deleted": True}, output, "key_deleted", name=name)
