"""What a person reads of one instance."""

import pytest

from gpustack_lite.cli.instances import show_words
from gpustack_lite.messages import localise

WAITING = {
    "id": 7,
    "model": "qwen",
    "state": "pending",
    "said": {"code": "no_workers", "params": {}},
    "devices": [],
    "memory": None,
    "reasons": [
        {
            "worker": "w1",
            "check": "whole_chip",
            "code": "chips_taken",
            "params": {"worker": "w1", "untaken_count": 0, "needed_count": 2},
        }
    ],
    "reason_counts": {"chips_taken": 3},
    "remedies": [
        {"code": "stop_instances", "params": {"worker": "w1", "instances": "3 (chat)", "count": 1}, "change": {}},
        {
            "code": "shorten_context",
            "params": {"worker": "w1", "context_length": 4096},
            "change": {"options": {"max-model-len": 4096}},
        },
    ],
}


def test_one_that_waits_shows_every_worker_and_what_would_help(capsys: pytest.CaptureFixture[str]) -> None:
    show_words(localise(WAITING, "en"))
    shown = capsys.readouterr().out
    assert "w1" in shown
    assert "whole_chip" in shown
    assert "and 2 more workers" in shown
    assert "3 (chat)" in shown
    assert '{"options": {"max-model-len": 4096}}' in shown
    assert "reason_counts" not in shown


def test_what_is_placed_shows_its_memory_with_units(capsys: pytest.CaptureFixture[str]) -> None:
    placed = {**WAITING, "reasons": [], "reason_counts": {}, "remedies": [], "memory": {"weights_bytes": 2**30}}
    placed["measured"] = {"weights_bytes": 2**29, "ram_bytes": 2**31}
    show_words(localise(placed, "en"))
    shown = " ".join(capsys.readouterr().out.split())
    assert "memory size measured weights 1 GiB 512 MiB" in shown
    assert "held in RAM by its processes 2 GiB" in shown
