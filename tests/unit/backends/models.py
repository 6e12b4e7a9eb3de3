"""Facts of published models, as their config.json says them, and devices to put them on."""

import json
from pathlib import Path

from backends.base import Placed, Want
from gpustack_lite.chips import declared_devices, parse_spec
from gpustack_lite.domain import BackendVersion, Device, ModelFacts
from gpustack_lite.hub.config_facts import facts_of_config

CONFIGS = json.loads((Path(__file__).parents[2] / "fixtures" / "configs.json").read_text(encoding="utf-8"))
GIB = 1024**3


def facts(name: str) -> ModelFacts:
    return facts_of_config(CONFIGS[name], f"/models/{name}")


def devices(spec: str) -> tuple[Device, ...]:
    return declared_devices("w", parse_spec(spec))


def want(spec: str, picked: int | None = None, **options: object) -> Want:
    """`spec` declares devices, one of which stands for all."""
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return Want(named, devices(spec)[:1] if spec else (), picked)


def placed(
    model: str, version: BackendVersion, on: tuple[Device, ...], context: int | None, **options: object
) -> Placed:
    return Placed(
        instance_id=7,
        model_name="served",
        source_path=f"/models/{model}",
        facts=facts(model),
        options={name.replace("_", "-"): value for name, value in options.items()},
        env={"TZ": "UTC"},
        devices=on,
        port=21000,
        workdir="/data/7",
        engine_key="secret-key",
        context_length=context,
        cpu_count=2,
        version=version,
        runner_dir="/app/worker/runners",
    )
