"""`gpustack-lite devices`: the accelerators of all workers."""

from typing import Annotated, Any

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, bytes_column, show_document, show_done, show_list
from gpustack_lite.cli.say import say

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_devices"))
Ref = Annotated[str, typer.Argument(metavar="DEVICE", help=say("help_device_ref"))]


def _use(device: Any) -> str:
    """In one word: used, cordoned, isolated, held (it flaps), or kept out by its worker."""
    if device["cordoned"]:
        return say("device_use_cordoned")
    if device["isolated"]:
        return say("device_use_held" if device["isolated"]["held"] else "device_use_isolated")
    return say("device_use_yes" if device["schedulable"] else "device_use_no")


COLUMNS = (
    Column("device", lambda device: f"{device['worker']}:{device['index']}"),
    Column("kind"),
    Column("chip"),
    bytes_column("memory_total_bytes"),
    bytes_column("memory_used_bytes"),
    bytes_column("memory_claimed_bytes"),
    Column("health"),
    Column("group"),
    Column("fault", lambda device: (device["fault"] or {}).get("code")),
    Column("in_use", _use),
    Column("cordon_note"),
    Column("utilization"),
    Column("temperature_c"),
    Column("simulated"),
)


@app.command("list", help=say("help_devices_list"))
def list_devices(
    worker: Annotated[str | None, typer.Option(help=say("help_only_worker"))] = None, output: Output = Format.TABLE
) -> None:
    with connect() as client:
        show_list(client.listed("devices", worker=worker), COLUMNS, output)


@app.command("show", help=say("help_devices_show"))
def show(device: Ref, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_document(client.get("devices", device), output)


@app.command("cordon", help=say("help_devices_cordon"))
def cordon(
    device: Ref,
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help=say("help_devices_note"))] = None,
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        show_done(
            client.post("devices", device, "cordon", body={"note": note}), output, "device_cordoned", device=device
        )


@app.command("uncordon", help=say("help_devices_uncordon"))
def uncordon(device: Ref, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_done(client.post("devices", device, "uncordon"), output, "device_uncordoned", device=device)
