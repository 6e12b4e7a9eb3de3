"""`gpustack-lite doctor`: is this machine fit, and what is in it. Needs no server."""

import platform
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from gpustack_lite.cli.output import Column, Format, Output, bytes_column, show_document, show_list
from gpustack_lite.cli.say import say, write
from gpustack_lite.domain import Device, Sentence
from gpustack_lite.messages import language_of_terminal, text

app = typer.Typer(rich_markup_mode=None, add_completion=False)
DEVICE_COLUMNS = (
    Column("device", lambda device: f"{device['worker']}:{device['index']}"),
    Column("kind"),
    Column("chip"),
    bytes_column("memory_total_bytes"),
    bytes_column("memory_used_bytes"),
    Column("health"),
    Column("simulated"),
)


@app.command(help=say("help_doctor"), epilog=say("help_doctor_examples"))
def doctor(
    data_dir: Annotated[Path | None, typer.Option(metavar="DIR", help=say("help_data_dir"))] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help=say("help_port"))] = None,
    simulate: Annotated[str | None, typer.Option(metavar="SPEC", help=say("help_simulate"))] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help=say("help_config"))] = None,
    output: Output = Format.TABLE,
) -> None:
    from gpustack_lite import settings
    from gpustack_lite.cli import checks
    from gpustack_lite.ports import Ports

    given = settings.load(config, data_dir=data_dir, port=port, simulate=simulate)
    ports = Ports()
    found = [check(given, ports) for check in checks.ALL]
    devices = [device_document(each) for each in find_devices(given.name or platform.node(), given.simulate)]
    documents = [check_document(each.name, each.status, each.said, each.remedy) for each in found]
    if output is not Format.TABLE:
        show_document({"devices": devices, "checks": documents}, output)
    else:
        print_checks(documents)
        write("")
        show_list({"items": devices}, DEVICE_COLUMNS, output)
    if any(each.status == "fail" for each in found):
        raise typer.Exit(1)


def find_devices(worker: str, simulate: str | None) -> tuple[Device, ...]:
    from worker.devices.declared import declaration
    from worker.devices.detect import detect

    return detect(worker, None if simulate is None else declaration(simulate)).devices


def check_document(name: str, status: str, said: Sentence, remedy: Sentence | None) -> dict[str, Any]:
    language = language_of_terminal()
    return {
        "name": name,
        "status": status,
        "code": said.code,
        "params": dict(said.params),
        "message": text(said, language),
        "remedy": None if remedy is None else text(remedy, language),
    }


def device_document(device: Device) -> dict[str, Any]:
    """As the API shows it; what only a server knows is null."""
    return {**asdict(device), "memory_claimed_bytes": None, "foreign_bytes": None}


def print_checks(documents: list[dict[str, Any]]) -> None:
    for each in documents:
        write(f"{say('status_' + each['status'])}  {each['message']}")
        if each["remedy"]:
            write(f"      {each['remedy']}")
