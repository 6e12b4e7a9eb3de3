"""`gpustack-lite simulate`: plans capacity with no hardware, and answers decisions once more that were written down."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from gpustack_lite.cli.output import Document, Format, Output, aligned, plain, show_document, shown_size
from gpustack_lite.cli.say import say, write
from gpustack_lite.errors import Refusal
from gpustack_lite.messages import language_of_terminal, localise

app = typer.Typer(rich_markup_mode=None, add_completion=False)
File = Annotated[Path | None, typer.Argument(metavar="CLUSTER", help=say("help_cluster_file"))]


@app.command(help=say("help_simulate_plan"), epilog=say("help_simulate_plan_examples"))
def simulate(
    cluster: File = None,
    workload: Annotated[Path | None, typer.Argument(metavar="WORKLOAD", help=say("help_workload_file"))] = None,
    replay: Annotated[Path | None, typer.Option(metavar="FILE", help=say("help_replay"))] = None,
    output: Output = Format.TABLE,
) -> None:
    if replay is not None and cluster is None:
        _show_replay(replayed(replay), output)
        return
    if cluster is None or workload is None or replay is not None:
        raise typer.BadParameter(say("simulate_needs_files"))
    found = planned(cluster, workload)
    show(found, output)
    if not found["fits"]:
        raise typer.Exit(1)


def planned(cluster: Path, workload: Path) -> Document:
    from gpustack_lite.cli import scenario
    from gpustack_lite.planning.capacity import plan

    nodes = scenario.cluster(cluster)
    found: Document = localise(plan(nodes, scenario.workload(workload, nodes)), language_of_terminal())
    return found


def show(found: Document, output: Format) -> None:
    if output is not Format.TABLE:
        show_document(found, output)
        return
    for line in (*aligned(_replicas(found)), "", *aligned(_left(found)), ""):
        write(line)
    for model in found["models"]:
        _show_words(model)
    code = "plan_fits" if found["fits"] else "plan_does_not_fit"
    write(say(code, replica_count=found["replica_count"], waiting_count=found["waiting_count"]))


def _replicas(found: Document) -> list[list[str]]:
    rows = [[say(f"column_{name}") for name in ("model", "backend", "context", "devices")]]
    for model in found["models"]:
        told = [model["name"], model["backend"], plain(model["context_length"])]
        rows += [[*told, ", ".join(each["devices"]) or each["worker"]] for each in model["placements"]]
        rows += [[*told, "-"]] * model["waiting_count"]
    return rows


def _left(found: Document) -> list[list[str]]:
    rows = [[say(f"column_{name}") for name in ("device", "chip", "memory_claimed_bytes", "free_bytes")]]
    for worker in found["left"]:
        for each in worker["devices"]:
            sizes = [str(shown_size(each[name])) for name in ("claimed_bytes", "free_bytes")]
            rows.append([each["device"], each["chip"], *sizes])
    return rows


def _show_words(model: Document) -> None:
    """What a person should know of one model: who waits and why, what would help, warnings, traffic."""
    if model["waiting_count"]:
        why = next((each["message"] for each in model["reasons"]), "?")
        write(say("plan_waits", name=model["name"], count=model["waiting_count"], why=why))
    for each in model["remedies"]:
        write(f"  {plain(each['message'])}")
    traffic = model["traffic"] or {"notes": []}
    for each in (*traffic["notes"], *model["warnings"]):
        write(f"{model['name']}: {plain(each['message'])}")


def replayed(path: Path) -> dict[str, Any]:
    """The recorded answer beside that of this version."""
    from gpustack_lite.planning.evaluation import answer_document
    from scheduler import replay

    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise Refusal("replay_file_unreadable", path=str(path), why=str(error)) from error
    if not isinstance(content, dict):
        raise Refusal("replay_unreadable", why=type(content).__name__)
    found = json.loads(json.dumps(answer_document(replay.question(content.get("question", content)))))
    before = content.get("answer")
    return {"is_same": None if before is None else without_words(before) == found, "answer": found}


def without_words(document: Any) -> Any:
    """What a server said in somebody's language is no part of the answer."""
    if isinstance(document, list):
        return [without_words(each) for each in document]
    if not isinstance(document, dict):
        return document
    return {key: without_words(value) for key, value in document.items() if key != "message"}


def _show_replay(found: dict[str, Any], output: Format) -> None:
    spoken = localise(found, language_of_terminal())
    if output is not Format.TABLE:
        show_document(spoken, output)
    else:
        _tell_replay(spoken)
    if found["is_same"] is False:
        raise typer.Exit(1)


def _tell_replay(found: Document) -> None:
    answer = found["answer"]
    if answer["placement"]:
        where = ", ".join(answer["placement"]["devices"]) or answer["placement"]["worker"]
        write(say("replay_placed", where=where))
    else:
        write(say("replay_refused", why=answer["reasons"][0]["message"]))
    for each in answer["remedies"]:
        write(f"  {plain(each['message'])}")
    if found["is_same"] is not None:
        write(say("replay_same" if found["is_same"] else "replay_differs"))
