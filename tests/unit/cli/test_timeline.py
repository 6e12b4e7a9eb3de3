from typing import Any

import pytest

from gpustack_lite.cli.timeline import amounts, bar_title, event_line, pace_shown


def event(**fields: Any) -> dict[str, Any]:
    return {"id": 1, "at": "2026-01-02T03:04:05.678Z", "kind": "move", "model": "smol", "params": {}} | fields


def test_a_move_tells_who_from_where_how_long_and_why() -> None:
    line = event_line(
        event(instance_id=3, from_state="starting", to_state="failed", params={"seconds": 1.26}, message="It died.")
    )
    assert line.split("  ")[1:] == ["smol#3", "starting -> failed", "1.3 s", "It died."]


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"kind": "model_created"}, ["smol", "model created"]),
        ({"kind": "worker_joined", "model": None, "worker": "w1"}, ["w1", "worker joined"]),
        ({"instance_id": 3, "from_state": None, "to_state": "pending"}, ["smol#3", "-> pending"]),
    ],
)
def test_other_events_tell_what_they_have(fields: dict[str, Any], parts: list[str]) -> None:
    assert event_line(event(**fields)).split("  ")[1:] == parts


@pytest.mark.parametrize(
    ("progress", "done_and_total"),
    [
        ({"bytes_done": 5, "bytes_total": 10, "fraction": 0.1}, (5, 10)),
        ({"fraction": 0.25}, (25, 100)),
        ({"bytes_done": 7, "bytes_total": None}, (7, None)),
        ({}, (0, None)),
    ],
)
def test_a_bar_shows_what_is_known(progress: dict[str, Any], done_and_total: tuple[float, float | None]) -> None:
    assert amounts(progress) == done_and_total


def test_a_bar_names_instance_and_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUSTACK_LITE_LANG", "en")
    assert bar_title({"id": 3, "model": "smol", "progress": {"phase": "engine"}}) == "smol#3 engine"


@pytest.mark.parametrize(
    ("progress", "shown"),
    [
        ({}, ""),
        ({"bytes_per_second": 1048576.0}, " 1 MiB/s"),
        ({"bytes_per_second": 1024, "eta_seconds": 75}, " 1 KiB/s 1:15"),
    ],
)
def test_a_bar_shows_a_pace_once_there_is_one(progress: dict[str, Any], shown: str) -> None:
    assert pace_shown(progress) == shown
