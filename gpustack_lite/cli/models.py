"""`gpustack-lite models`: deploy them, look at them, start, stop, scale and delete them, read their logs."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from gpustack_lite.cli import admitting, revisions, serving
from gpustack_lite.cli.access import connect
from gpustack_lite.cli.logs import Attempt, Follow, Tail, print_log
from gpustack_lite.cli.output import Column, Format, Output, show_document, show_done, show_list
from gpustack_lite.cli.pairs import labels_of, options_of, replicas_of
from gpustack_lite.cli.say import say
from gpustack_lite.errors import Refusal

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_models"))
Name = Annotated[str, typer.Argument(metavar="NAME", help=say("help_model_name"))]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help=say("help_wait"))]
Timeout = Annotated[float, typer.Option("--timeout", min=0, metavar="SECONDS", help=say("help_wait_timeout"))]


class Strategy(StrEnum):
    """PlacementWish.strategy."""

    SPREAD = "spread"
    BINPACK = "binpack"


def _range(autoscale: dict[str, Any] | None) -> str:
    """ " (1..4)" for a model that follows its load."""
    return f" ({autoscale['min']}..{autoscale['max']})" if autoscale else ""


COLUMNS = (
    Column("name"),
    Column("state"),
    Column("ready", lambda model: f"{model['ready_replicas']}/{model['replicas']}" + _range(model.get("autoscale"))),
    Column("backend", lambda model: model["chosen_backend"]),
    Column("source"),
    Column("message", lambda model: model.get("state_message")),
)


@app.command("deploy", help=say("help_models_deploy"), epilog=say("help_models_deploy_examples"))
def deploy(
    name: Name,
    source: Annotated[str, typer.Option(help=say("help_source"))],
    revision: Annotated[str | None, typer.Option(metavar="REVISION", help=say("help_revision"))] = None,
    include: Annotated[list[str] | None, typer.Option(metavar="PATTERN", help=say("help_include"))] = None,
    backend: Annotated[str | None, typer.Option(help=say("help_backend"))] = None,
    backend_version: Annotated[str | None, typer.Option(help=say("help_backend_version"))] = None,
    replicas: Annotated[str, typer.Option(metavar="N | auto(MIN,MAX)", help=say("help_replicas"))] = "1",
    option: Annotated[list[str] | None, typer.Option(metavar="K=V", help=say("help_option"))] = None,
    env: Annotated[list[str] | None, typer.Option(metavar="K=V", help=say("help_env"))] = None,
    label: Annotated[list[str] | None, typer.Option(metavar="K=V", help=say("help_label"))] = None,
    device: Annotated[list[str] | None, typer.Option(metavar="WORKER:INDEX", help=say("help_device"))] = None,
    worker: Annotated[list[str] | None, typer.Option(metavar="NAME", help=say("help_on_worker"))] = None,
    chip: Annotated[list[str] | None, typer.Option(metavar="CHIP", help=say("help_chip"))] = None,
    strategy: Annotated[Strategy, typer.Option(help=say("help_strategy"))] = Strategy.SPREAD,
    apart: Annotated[bool, typer.Option("--apart", help=say("help_apart"))] = False,
    share_chips: Annotated[bool, typer.Option("--share-chips", help=say("help_share_chips"))] = False,
    priority: Annotated[int, typer.Option(min=-1000, max=1000, help=say("help_priority"))] = 0,
    trust_remote_code: Annotated[bool, typer.Option("--trust-remote-code", help=say("help_trust_code"))] = False,
    allow_pickle: Annotated[bool, typer.Option("--allow-pickle", help=say("help_allow_pickle"))] = False,
    queue_length: serving.QueueLength = None,
    queue_seconds: serving.QueueSeconds = None,
    in_flight_per_replica: serving.InFlight = None,
    affinity: serving.Affinity = None,
    sleep_after: serving.SleepAfter = None,
    pin: serving.Pin = None,
    reasoning: serving.ReasoningName = None,
    limit: serving.Limit = None,
    weight: serving.Weight = None,
    access: admitting.Access = None,
    manager: admitting.Manager = None,
    wait: Wait = True,
    timeout: Timeout = 3600,
    output: Output = Format.TABLE,
) -> None:
    from gpustack_lite.cli.deploying import newest_event, wait_until_ready

    body: dict[str, Any] = {"name": name, "source": source, "replicas": replicas_of(replicas)}
    body |= {"source_revision": revision, "include": include or []}
    body |= {"backend": backend, "backend_version": backend_version}
    body |= {"trust_remote_code": trust_remote_code, "allow_pickle": allow_pickle}
    body |= {"options": options_of(option or []), "env": labels_of(env or [], "--env")}
    body["placement"] = {
        "strategy": strategy.value,
        "worker_labels": labels_of(label or [], "--label"),
        "devices": device or [],
        "workers": worker or [],
        "chips": chip or [],
        "apart": apart,
        "share_chips": share_chips,
        "priority": priority,
    }
    given = {
        "queue_length": queue_length,
        "queue_seconds": queue_seconds,
        "in_flight_per_replica": in_flight_per_replica,
        "affinity": affinity,
        "sleep_after_seconds": sleep_after,
        "pinned": pin,
        "reasoning": reasoning,
    }
    body["serving"] = serving.serving_of(given, limit or [], weight or [], is_patch=False)
    body |= admitting.access_of(access or [], manager or [])
    with connect() as client:
        before = newest_event(client)
        model = client.post("models", body=body)
        show_done(model, output, "model_created", name=model["name"])
        if wait and body["replicas"]:
            wait_until_ready(client, model["name"], timeout, after_event=before, is_quiet=output is not Format.TABLE)


@app.command("list", help=say("help_models_list"))
def list_models(output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_list(client.listed("models"), COLUMNS, output)


@app.command("show", help=say("help_models_show"))
def show(name: Name, output: Output = Format.TABLE) -> None:
    from gpustack_lite.cli.instances import COLUMNS as INSTANCE_COLUMNS

    with connect() as client:
        show_document(client.get("models", name), output)
        if output is Format.TABLE:
            typer.echo()
            show_list(client.listed("models", name, "instances"), INSTANCE_COLUMNS, output)


@app.command("start", help=say("help_models_start"))
def start(name: Name, wait: Wait = True, timeout: Timeout = 3600, output: Output = Format.TABLE) -> None:
    from gpustack_lite.cli.deploying import newest_event, wait_until_ready

    with connect() as client:
        before = newest_event(client)
        show_done(client.post("models", name, "start"), output, "model_started", name=name)
        if wait:
            wait_until_ready(client, name, timeout, after_event=before, is_quiet=output is not Format.TABLE)


@app.command("stop", help=say("help_models_stop"))
def stop(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_done(client.post("models", name, "stop"), output, "stopped_model", name=name)


@app.command("scale", help=say("help_models_scale"))
def scale(
    name: Name,
    replicas: Annotated[str, typer.Argument(metavar="REPLICAS", help=say("help_replicas"))],
    load: Annotated[float | None, typer.Option(min=0.001, help=say("help_scale_load"))] = None,
    up_after: Annotated[float | None, typer.Option(min=1, metavar="SECONDS", help=say("help_up_after"))] = None,
    down_after: Annotated[float | None, typer.Option(min=1, metavar="SECONDS", help=say("help_down_after"))] = None,
    output: Output = Format.TABLE,
) -> None:
    patch: dict[str, Any] = {"replicas": replicas_of(replicas)}
    given = {"in_flight_per_replica": load, "up_seconds": up_after, "down_seconds": down_after}
    if finer := {field: value for field, value in given.items() if value is not None}:
        patch["autoscale"] = finer
    with connect() as client:
        model = client.patch("models", name, body=patch)
    show_done(model, output, "model_scaled", name=name, replicas=replicas)


@app.command("update", help=say("help_models_update"))
def update(
    name: Name,
    option: Annotated[list[str] | None, typer.Option(metavar="K=V", help=say("help_option"))] = None,
    env: Annotated[list[str] | None, typer.Option(metavar="K=V", help=say("help_env"))] = None,
    queue_length: serving.QueueLength = None,
    queue_seconds: serving.QueueSeconds = None,
    in_flight_per_replica: serving.InFlight = None,
    affinity: serving.Affinity = None,
    sleep_after: serving.SleepAfter = None,
    pin: serving.Pin = None,
    reasoning: serving.ReasoningName = None,
    limit: serving.Limit = None,
    weight: serving.Weight = None,
    access: admitting.Access = None,
    manager: admitting.Manager = None,
    output: Output = Format.TABLE,
) -> None:
    given = {
        "queue_length": queue_length,
        "queue_seconds": queue_seconds,
        "in_flight_per_replica": in_flight_per_replica,
        "affinity": affinity,
        "sleep_after_seconds": sleep_after,
        "pinned": pin,
        "reasoning": reasoning,
    }
    patch: dict[str, Any] = {"options": options_of(option or []), "env": labels_of(env or [], "--env")}
    patch["serving"] = serving.serving_of(given, limit or [], weight or [], is_patch=True)
    patch = {field: value for field, value in patch.items() if value}
    patch |= admitting.access_of(access or [], manager or [])
    if not patch:
        raise typer.BadParameter(say("nothing_to_change"))
    with connect() as client:
        model = client.patch("models", name, body=patch)
    show_done(model, output, "model_updated", name=name)


app.command("history", help=say("help_models_history"))(revisions.history)
app.command("spec", help=say("help_models_spec"))(revisions.spec)
app.command("diff", help=say("help_models_diff"))(revisions.diff)
app.command("rollback", help=say("help_models_rollback"))(revisions.rollback)
app.command("apply", help=say("help_models_apply"))(revisions.apply)


@app.command("delete", help=say("help_models_delete"))
def delete(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        client.delete("models", name)
    show_done({"name": name, "deleted": True}, output, "model_deleted", name=name)


@app.command("logs", help=say("help_models_logs"))
def logs(name: Name, follow: Follow = False, attempt: Attempt = None, tail: Tail = 1000) -> None:
    with connect() as client:
        instances = client.items("models", name, "instances")
        if not instances:
            raise Refusal("model_has_no_instance", name=name)
        print_log(client, newest_with_log(instances), follow=follow, attempt=attempt, tail=tail)


def newest_with_log(instances: list[dict[str, Any]]) -> int:
    """What was never placed has no log, so it counts only where nothing else is there."""
    return int(max(instances, key=lambda each: (each["worker"] is not None, each["id"]))["id"])
