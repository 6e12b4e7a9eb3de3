"""The public shapes of rows."""

import re
from pathlib import Path

from gpustack_lite.db.documents import MASK, event_document, instance_document, model_document
from gpustack_lite.db.tables import Event
from gpustack_lite.messages import CATALOGUE, localise
from tests.fakes.clock import START
from tests.fakes.rows import a_model, a_placed_instance, an_instance

ROOT = Path(__file__).parents[3]
KIND = re.compile(
    r'"((?:model|worker|instance|key|user|password|backend)_'
    r'(?:created|changed|started|stopped|deleted|joined|ready|returned|silent|gone|reset))"'
)


def test_an_instance_names_its_devices_by_worker_and_index() -> None:
    shown = instance_document(a_placed_instance(1, device_indices=[0, 1], attempt=2), "w1")
    assert (shown["devices"], shown["attempts"], shown["worker"]) == (["w1:0", "w1:1"], [1, 2], "w1")


def test_a_waiting_instance_says_why_in_the_readers_language() -> None:
    said = {"code": "model_pending", "params": {"model": "m"}}
    shown = instance_document(an_instance(1, said=said, reasons=[{**said, "worker": "w1"}]), None)
    english, chinese = localise(shown, "en"), localise(shown, "zh")
    assert english["state_message"] == "The model m waits for a place."
    assert chinese["reasons"][0]["message"] == "模型 m 正在等待分配资源。"
    assert shown["reasons"][0] == {**said, "worker": "w1"}


def test_an_instance_with_nothing_to_say_has_no_message() -> None:
    assert localise(instance_document(an_instance(1), None), "en")["state_message"] is None


def test_a_model_shows_the_backend_that_was_chosen_for_it() -> None:
    placed = a_placed_instance(1, assigned={"model": "m", "backend": "echo"})
    shown = model_document(a_model(backend=None), [placed, an_instance(2)])
    assert (shown["backend"], shown["chosen_backend"]) == (None, "echo")
    assert model_document(a_model(backend="vllm"), [])["chosen_backend"] == "vllm"


def test_an_event_without_a_sentence_of_its_own_has_that_of_its_kind() -> None:
    event = Event(
        id=1,
        at=START,
        kind="move",
        model_name="smol",
        instance_id=3,
        from_state="pending",
        to_state="scheduled",
        params={"seconds": 1.5},
    )
    shown = localise(event_document(event), "en")
    assert shown["code"] == "event_move"
    assert shown["message"] == "Replica 3 of smol went from pending to scheduled."
    assert shown["params"]["seconds"] == 1.5


def test_every_kind_of_event_that_is_written_has_its_sentence() -> None:
    sources = [path for top in ("api", "db", "server") for path in (ROOT / "gpustack_lite" / top).rglob("*.py")]
    written = {kind for path in sources for kind in KIND.findall(path.read_text(encoding="utf-8"))}
    assert len(written) > 15
    assert [kind for kind in sorted(written) if f"event_{kind}" not in CATALOGUE] == []


def test_secrets_in_the_environment_are_never_shown_again() -> None:
    shown = model_document(a_model(env={"HF_TOKEN": "hf_x", "OMP_NUM_THREADS": "4"}), [])
    assert shown["env"] == {"HF_TOKEN": MASK, "OMP_NUM_THREADS": "4"}


def test_times_are_utc_with_a_zone() -> None:
    assert model_document(a_model(), [])["created_at"] == "2026-11-30T12:00:00.000Z"
