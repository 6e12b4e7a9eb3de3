"""`gpustack-lite evaluate`: does a model fit, before anything is downloaded or started?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from gpustack_lite.cli.output import Document, Format, Output, aligned, plain, show_document, shown_size
from gpustack_lite.cli.pairs import labels_of, options_of
from gpustack_lite.cli.say import say, write

app = typer.Typer(rich_markup_mode=None, add_completion=False)
TERMS = ("weights", "kv", "activation", "overhead", "total")


@app.command(help=say("help_evaluate"), epilog=say("help_evaluate_examples"))
def evaluate(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=say("help_source"))],
    revision: Annotated[str | None, typer.Option(metavar="REVISION", help=say("help_revision"))] = None,
    include: Annotated[list[str] | None, typer.Option(metavar="PATTERN", help=say("help_include"))] = None,
    backend: Annotated[str | None, typer.Option(help=say("help_backend"))] = None,
    option: Annotated[list[str] | None, typer.Option(metavar="K=V", help=say("help_option"))] = None,
    label: Annotated[list[str] | None, typer.Option(metavar="K=V", help=say("help_label"))] = None,
    device: Annotated[list[str] | None, typer.Option(metavar="WORKER:INDEX", help=say("help_device"))] = None,
    variant: Annotated[list[str] | None, typer.Option(metavar="SOURCE", help=say("help_variant"))] = None,
    simulate: Annotated[str | None, typer.Option(metavar="SPEC", help=say("help_evaluate_simulate"))] = None,
    output: Output = Format.TABLE,
) -> None:
    placement = {"worker_labels": labels_of(label or [], "--label"), "devices": device or []}
    body: dict[str, Any] = {"source": source, "source_revision": revision, "include": include or []}
    body |= {"backend": backend, "options": options_of(option or []), "placement": placement}
    found = _by_server(body, variant or []) if simulate is None else _here(body, variant or [], simulate)
    show(found, output)
    if not found["fits"]:
        raise typer.Exit(1)


def _by_server(body: dict[str, Any], variants: list[str]) -> Document:
    from gpustack_lite.cli.access import connect

    source = str(body["source"])
    path = Path(source).expanduser()
    absolute = str(path.resolve()) if path.exists() else source
    with connect() as client:
        return client.post("evaluate", body={**body, "source": absolute, "variants": variants})


def _here(body: dict[str, Any], variants: list[str], simulate: str) -> Document:
    from gpustack_lite.cli.scenery import evaluated, simulated
    from gpustack_lite.messages import language_of_terminal, localise

    found: Document = localise(evaluated(body, variants, (simulated(simulate),)), language_of_terminal())
    return found


def show(found: Document, output: Format) -> None:
    if output is not Format.TABLE:
        show_document(found, output)
        return
    write(sentence(found))
    if found["offload"]:
        write(plain(found["offload"]["message"]))
    if (files := files_sentence(found)) is not None:
        write(files)
    for line in aligned(rows(found)):
        write(line)
    for each in found["warnings"]:
        write(plain(each["message"]))
    if found["remedies"]:
        write(say("evaluation_remedies"))
    for each in found["remedies"]:
        write(f"  {plain(each['message'])}")


def sentence(found: Document) -> str:
    source, backend, context = found["source"], found["backend"], found["context_length"]
    if not found["fits"]:
        why = next((each["message"] for each in found["reasons"]), "?")
        return say("evaluation_does_not_fit", source=source, why=why)
    where = ", ".join(found["placement"]["devices"]) or found["placement"]["worker"]
    if context is None:
        return say("evaluation_fits_declared", source=source, where=where, backend=backend)
    said = say("evaluation_fits", source=source, where=where, backend=backend, context_length=context)
    return f"{said} {found['context_reason']['message']}"


def files_sentence(found: Document) -> str | None:
    """What would be fetched, of what lies on a hub."""
    if found.get("revision") is None:
        return None
    names, room = ", ".join(found["files"]) or "-", found["disk_free_bytes"]
    revision, size = plain(found["revision"])[:12], shown_size(found["download_bytes"]) or "?"
    said = say("evaluation_files", revision=revision, names=plain(names), size=size)
    return said if room is None else f"{said} {say('evaluation_files_room', room=shown_size(room))}"


def rows(found: Document) -> list[list[str]]:
    """By term, of the whole replica; then what is claimed."""
    memory = found["memory"]
    if memory is None:
        return []
    per_token = shown_size(memory["kv_bytes_per_token"]) or "?"
    shown = [
        [say(f"memory_{term}", kv_per_token=per_token), str(shown_size(memory[f"{term}_bytes"]))] for term in TERMS
    ]
    if memory["device_count"]:
        name = say("memory_per_device", device_count=memory["device_count"])
        shown.append([name, str(shown_size(memory["per_device_bytes"]))])
    if memory["ram_bytes"]:
        shown.append([say("memory_ram"), str(shown_size(memory["ram_bytes"]))])
    if memory["is_measured"]:
        shown.append([memory["figures"]["message"], ""])
    return [[say("memory_term"), say("memory_bytes")], *shown]
