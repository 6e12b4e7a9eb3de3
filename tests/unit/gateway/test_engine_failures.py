import pytest

from gpustack_lite.domain import Sentence
from gpustack_lite.gateway.engine_failures import refusal_of
from gpustack_lite.messages import text
from gpustack_lite.relay.connection import Patience
from gpustack_lite.relay.failures import Cause, UpstreamFailed

PATIENCE = Patience(connect_seconds=5, first_byte_seconds=600, idle_seconds=0.5)


@pytest.mark.parametrize(
    ("cause", "status", "code"),
    [
        ("connect_failed", 502, "engine_unreachable"),
        ("connect_timeout", 502, "engine_unreachable"),
        ("closed_early", 502, "engine_broke"),
        ("first_byte_timeout", 504, "engine_timeout"),
        ("idle_timeout", 504, "engine_timeout"),
        ("not_http", 502, "engine_not_http"),
        ("head_too_large", 502, "engine_not_http"),
    ],
)
def test_each_failure_has_its_own_words(cause: Cause, status: int, code: str) -> None:
    refusal = refusal_of(UpstreamFailed(cause), model="m", patience=PATIENCE)
    assert (refusal.status, refusal.code) == (status, code)
    assert "m" in text(refusal.sentence)


def test_a_timeout_says_how_long_it_was() -> None:
    refusal = refusal_of(UpstreamFailed("first_byte_timeout"), model="m", patience=PATIENCE)
    assert "600 seconds" in text(Sentence(refusal.code, refusal.params))
