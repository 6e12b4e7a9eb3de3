"""`gpustack-lite requests`: what became of single requests, and why."""

from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Document, Format, Output, show_document, show_list
from gpustack_lite.cli.say import say

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_requests"))


def _replica(row: Document) -> str | None:
    if row["instance_id"] is None:
        return None
    return f"{row['worker']}:{row['instance_id']}" if row["worker"] else str(row["instance_id"])


COLUMNS = (
    Column("request_id"),
    Column("started_at"),
    Column("model", lambda row: row["public_name"] or row["model"]),
    Column("replica", _replica),
    Column("status"),
    Column("cause"),
    Column("seconds"),
    Column("ttft_seconds"),
    Column("prompt_tokens"),
    Column("completion_tokens"),
)


@app.command("list", help=say("help_requests_list"), epilog=say("help_requests_examples"))
def list_requests(
    model: Annotated[str | None, typer.Option(help=say("help_only_model"))] = None,
    instance: Annotated[int | None, typer.Option(help=say("help_only_instance"))] = None,
    key: Annotated[int | None, typer.Option(metavar="ID", help=say("help_only_key"))] = None,
    user: Annotated[int | None, typer.Option(metavar="ID", help=say("help_only_user"))] = None,
    status: Annotated[str | None, typer.Option(metavar="429|5xx", help=say("help_only_status"))] = None,
    cause: Annotated[str | None, typer.Option(help=say("help_only_cause"))] = None,
    request: Annotated[str | None, typer.Option(metavar="ID", help=say("help_only_request"))] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help=say("help_usage_from"))] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help=say("help_usage_to"))] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help=say("help_limit"))] = 50,
    output: Output = Format.TABLE,
) -> None:
    sought = {"model": model, "instance": instance, "key": key, "user": user, "status": status, "cause": cause}
    with connect() as client:
        found = client.listed("requests", limit=limit, request=request, **sought, **{"from": start, "to": end})
    show_list(found, COLUMNS, output)


@app.command("show", help=say("help_requests_show"))
def show(
    request: Annotated[str, typer.Argument(metavar="ID", help=say("help_request_id"))], output: Output = Format.TABLE
) -> None:
    with connect() as client:
        found = client.get("requests", request)
    if output is Format.TABLE:
        found["why"] = (found["why"] or {}).get("message")
    show_document(found, output)
