"""`gpustack-lite join`: this machine as a worker of a server elsewhere."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from gpustack_lite.cli.datadir import prepare
from gpustack_lite.cli.handover import same_command
from gpustack_lite.cli.say import say
from gpustack_lite.cli.start import checked_spec
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports

app = typer.Typer(rich_markup_mode=None, add_completion=False)
STDIN = "-"


@app.command(help=say("help_join"), epilog=say("help_join_examples"))
def join(
    url: Annotated[str, typer.Argument(metavar="URL", help=say("help_join_url"))],
    token: Annotated[str | None, typer.Option(envvar="GPUSTACK_LITE_TOKEN", help=say("help_join_token"))] = None,
    name: Annotated[str | None, typer.Option(help=say("help_worker_name"))] = None,
    labels: Annotated[str | None, typer.Option(metavar="k=v,...", help=say("help_labels"))] = None,
    data_dir: Annotated[Path | None, typer.Option(metavar="DIR", help=say("help_data_dir"))] = None,
    simulate: Annotated[str | None, typer.Option(metavar="SPEC", help=say("help_simulate"))] = None,
    model_root: Annotated[list[Path] | None, typer.Option(metavar="DIR", help=say("help_model_root"))] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help=say("help_config"))] = None,
    log_level: Annotated[str | None, typer.Option(help=say("help_log_level"))] = None,
) -> None:
    from gpustack_lite import settings
    from gpustack_lite.cli.launch import supervise_worker

    ports = Ports()
    given = settings.load(
        config,
        data_dir=data_dir,
        simulate=checked_spec(simulate),
        model_roots=[root.resolve() for root in model_root] if model_root else None,
        name=name,
        labels=labels,
        log_level=log_level,
    )
    server_url = checked_url(url)
    token_file = keep_token(given.data_dir, token, ports)
    hide_token(sys.argv[1:])
    supervise_worker(given, ports, server_url, token_file)


def checked_url(url: str) -> str:
    """Raises Refusal `join_url_invalid`, or `join_needs_tls` for plain HTTP to another machine."""
    from gpustack_lite.client import is_loopback

    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Refusal("join_url_invalid", url=url)
    if parts.scheme == "http" and not is_loopback(url):
        raise Refusal("join_needs_tls", url=url)
    return url.rstrip("/")


def keep_token(data_dir: Path, token: str | None, ports: Ports) -> Path:
    """The token as a file that only we can read; without one given, what an earlier join kept serves."""
    prepared = prepare(data_dir, ports)
    path = prepared.run / "join_token"
    if token == STDIN:
        token = sys.stdin.readline()
    if token and token.strip():
        ports.disk.replace(path, token.strip().encode())
    elif not path.exists():
        raise Refusal("join_token_needed")
    return path


def hide_token(arguments: Sequence[str]) -> None:
    """Start this very command anew when its arguments show the token: it is in its file by now."""
    hidden = leave_token_out(arguments)
    if hidden != list(arguments):
        os.environ.pop("GPUSTACK_LITE_TOKEN", None)
        argv = same_command(hidden)
        os.execv(argv[0], argv)  # noqa: S606


def leave_token_out(arguments: Sequence[str]) -> list[str]:
    """The arguments without `--token X` or `--token=X`: everybody on this machine can read them."""
    kept: list[str] = []
    is_value = False
    for argument in arguments:
        if is_value or argument.startswith("--token="):
            is_value = False
        elif argument == "--token":
            is_value = True
        else:
            kept.append(argument)
    return kept
