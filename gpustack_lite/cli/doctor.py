"""`gpustack-lite doctor`: is this machine fit, and what is in it. Needs no server."""

import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpustack_lite.cli.output import Column, Format, Output, bytes_column, show_document, show_list
from gpustack_lite.cli.say import say, write
from gpustack_lite.domain import Device, Sentence
from gpustack_lite.errors import Refusal
from gpustack_lite.messages import language_of_terminal, text

if TYPE_CHECKING:
    from gpustack_lite.cli.host_facts import Facts
    from gpustack_lite.ports import Ports
    from gpustack_lite.settings import Settings
    from worker.devices.detect import Inventory

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

PLAN_COLUMNS = (
    Column("chip"),
    Column("backend"),
    Column("version"),
    Column("now", lambda row: say(f"verdict_{row['now']}")),
    Column("then", lambda row: say(f"verdict_{row['then']}")),
    Column("why", lambda row: row["message"]),
)


@app.command(help=say("help_doctor"), epilog=say("help_doctor_examples"))
def doctor(
    data_dir: Annotated[Path | None, typer.Option(metavar="DIR", help=say("help_data_dir"))] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help=say("help_port"))] = None,
    simulate: Annotated[str | None, typer.Option(metavar="SPEC", help=say("help_simulate"))] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help=say("help_config"))] = None,
    server: Annotated[str | None, typer.Option(metavar="URL", help=say("help_doctor_server"))] = None,
    plan: Annotated[list[str] | None, typer.Option("--plan", metavar="NAME=VERSION", help=say("help_plan"))] = None,
    output: Output = Format.TABLE,
) -> None:
    from gpustack_lite import settings
    from gpustack_lite.cli import checks, host_checks, host_facts
    from gpustack_lite.ports import Ports

    given = settings.load(config, data_dir=data_dir, port=port, simulate=simulate)
    ports = Ports()
    seen = look(given.name or platform.node(), given)
    if plan:
        show_plan(seen, given.name or platform.node(), plan, output)
        return
    facts = host_facts.gather(given.name or platform.node(), seen, given, ports, server or known_server(ports))
    found = [*(check(given, ports) for check in checks.ALL), *host_checks.judged(facts)]
    documents = [check_document(each.name, each.status, each.said, each.remedy) for each in found]
    devices = [device_document(each) for each in seen.devices]
    if output is not Format.TABLE:
        show_document({"devices": devices, "checks": documents, "notes": notes(facts)}, output)
    else:
        print_checks(documents)
        write("")
        show_list({"items": devices}, DEVICE_COLUMNS, output)
    if any(each.status == "fail" for each in found):
        raise typer.Exit(1)


def look(worker: str, given: "Settings") -> "Inventory":
    from worker.devices.declared import declaration
    from worker.devices.detect import detect

    return detect(worker, None if given.simulate is None else declaration(given.simulate), given)


def known_server(ports: "Ports") -> str | None:
    """The one that other commands would talk to; a machine that knows none is no worse for it."""
    from gpustack_lite.cli import access

    try:
        return os.environ.get("GPUSTACK_LITE_SERVER") or access.find(ports).url
    except Refusal:
        return None


def notes(facts: "Facts") -> list[dict[str, Any]]:
    """What is neither good nor bad: programs that would tell more if they were there."""
    if "ascend" not in facts.kinds or facts.prechecker is not None:
        return []
    said = Sentence("note_no_prechecker")
    return [{"code": said.code, "params": {}, "message": text(said, language_of_terminal())}]


def show_plan(seen: "Inventory", name: str, wanted: list[str], output: Format) -> None:
    """Which listed builds of engines would still run here with other versions of driver or CANN."""
    from gpustack_lite.cli.planning import changes_of, rows

    planned = rows(seen, name, changes_of(wanted))
    if output is Format.TABLE:
        show_list({"items": planned}, PLAN_COLUMNS, output)
    else:
        show_document({"plan": planned}, output)


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
