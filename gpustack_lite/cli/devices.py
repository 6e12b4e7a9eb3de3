"""`gpustack-lite devices`: the accelerators of all workers."""

from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, bytes_column, show_list
from gpustack_lite.cli.say import say

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_devices"))
COLUMNS = (
    Column("device", lambda device: f"{device['worker']}:{device['index']}"),
    Column("kind"),
    Column("chip"),
    bytes_column("memory_total_bytes"),
    bytes_column("memory_used_bytes"),
    bytes_column("memory_claimed_bytes"),
    Column("health"),
    Column("utilization"),
    Column("temperature_c"),
    Column("simulated"),
)


@app.callback()
def devices() -> None:
    """A noun with one verb so far."""


@app.command("list", help=say("help_devices_list"))
def list_devices(
    worker: Annotated[str | None, typer.Option(help=say("help_only_worker"))] = None, output: Output = Format.TABLE
) -> None:
    with connect() as client:
        show_list(client.listed("devices", worker=worker), COLUMNS, output)
