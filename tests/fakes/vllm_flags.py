"""The command line of `vllm serve` as its help of 0.23 and 0.32 describes it: names, and whether a value follows."""

import argparse
import json
from pathlib import Path
from typing import Any

FLAGS: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "vllm_flags.json").read_text(encoding="utf-8")
)
VERSIONS = ("0.23.0", "0.32.0")


def flags_of(version: str) -> dict[str, str]:
    """Name -> "bool" (with a --no- form), "switch" (without), "value", or its choices between bars."""
    return FLAGS["both"] | FLAGS[version]


def parser(version: str) -> argparse.ArgumentParser:
    """Like vLLM's own it takes the beginning of a name for the whole."""
    made = argparse.ArgumentParser(prog="vllm serve", usage="vllm serve [model_tag] [options]")
    made.add_argument("model_tag")
    for name, kind in flags_of(version).items():
        made.add_argument(f"--{name}", **_kind(name, kind))
    return made


def _kind(name: str, kind: str) -> dict[str, Any]:
    if kind in {"bool", "switch"}:
        return {"action": argparse.BooleanOptionalAction if kind == "bool" else "store_true", "default": None}
    choices = kind.split("|") if "|" in kind else None
    return {"choices": choices} if choices else {"nargs": "+"} if name in {"served-model-name", "lora-modules"} else {}


def serving(argv: list[str]) -> list[str]:
    """What follows `serve`, whatever stands before it."""
    return argv[argv.index("serve") + 1 :]
