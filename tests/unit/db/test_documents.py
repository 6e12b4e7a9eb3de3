"""The public shapes of rows."""

from gpustack_lite.db.documents import MASK, event_document, instance_document, localise, model_document
from gpustack_lite.db.tables import Event
from tests.fakes.clock import START
from tests.fakes.rows import a_model, a_placed_instance, an_instance


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


def test_an_event_without_a_sentence_has_no_message() -> None:
    event = Event(id=1, at=START, kind="move", from_state="pending", to_state="scheduled", params={"seconds": 1.5})
    assert localise(event_document(event), "en")["message"] is None


def test_secrets_in_the_environment_are_never_shown_again() -> None:
    shown = model_document(a_model(env={"HF_TOKEN": "hf_x", "OMP_NUM_THREADS": "4"}), [])
    assert shown["env"] == {"HF_TOKEN": MASK, "OMP_NUM_THREADS": "4"}


def test_times_are_utc_with_a_zone() -> None:
    assert model_document(a_model(), [])["created_at"] == "2026-11-30T12:00:00.000Z"
