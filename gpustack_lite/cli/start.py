"""`gpustack-lite start`: server, gateway and worker on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from gpustack_lite.cli.durations import seconds
from gpustack_lite.cli.say import say

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(help=say("help_start"), epilog=say("help_start_examples"))
def start(
    host: Annotated[str | None, typer.Option(help=say("help_host"))] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help=say("help_port"))] = None,
    data_dir: Annotated[Path | None, typer.Option(metavar="DIR", help=say("help_data_dir"))] = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help=say("help_no_worker"))] = False,
    gateways: Annotated[int | None, typer.Option(min=1, max=64, help=say("help_gateways"))] = None,
    stale_keys_max: Annotated[str | None, typer.Option(metavar="TIME", help=say("help_stale_keys_max"))] = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help=say("help_tls_cert"))] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help=say("help_tls_key"))] = None,
    tls_port: Annotated[int | None, typer.Option(min=0, max=65535, help=say("help_tls_port"))] = None,
    database_url: Annotated[str | None, typer.Option(help=say("help_database_url"))] = None,
    simulate: Annotated[str | None, typer.Option(metavar="SPEC", help=say("help_simulate"))] = None,
    model_root: Annotated[list[Path] | None, typer.Option(metavar="DIR", help=say("help_model_root"))] = None,
    allowed_host: Annotated[list[str] | None, typer.Option(metavar="HOST", help=say("help_allowed_host"))] = None,
    name: Annotated[str | None, typer.Option(help=say("help_worker_name"))] = None,
    labels: Annotated[str | None, typer.Option(metavar="k=v,...", help=say("help_labels"))] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help=say("help_config"))] = None,
    log_level: Annotated[str | None, typer.Option(help=say("help_log_level"))] = None,
) -> None:
    from gpustack_lite import settings
    from gpustack_lite.cli.launch import supervise_platform
    from gpustack_lite.ports import Ports

    given = settings.load(
        config,
        host=host,
        port=port,
        data_dir=data_dir,
        no_worker=no_worker or None,
        gateways=gateways,
        stale_keys_max_seconds=None if stale_keys_max is None else seconds(stale_keys_max),
        tls_cert=None if tls_cert is None else tls_cert.resolve(),
        tls_key=None if tls_key is None else tls_key.resolve(),
        tls_port=tls_port,
        database_url=database_url,
        simulate=checked_spec(simulate),
        model_roots=[root.resolve() for root in model_root] if model_root else None,
        allowed_hosts=allowed_host or None,
        name=name,
        labels=labels,
        log_level=log_level,
    )
    supervise_platform(given, Ports())


def checked_spec(simulate: str | None) -> str | None:
    """A SPEC or the path of a YAML file, which a child must find from its own directory."""
    if simulate is None:
        return None
    from worker.devices.declared import declaration

    declaration(simulate)
    return str(Path(simulate).resolve()) if Path(simulate).is_file() else simulate
