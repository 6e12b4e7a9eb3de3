"""A build that a host cannot run is refused before anything is fetched, with what would be right."""

import pytest

from backends.compatibility import Host, verdict
from gpustack_lite.api.installing import _must_fit
from gpustack_lite.domain import Sentence
from gpustack_lite.errors import Refusal
from gpustack_lite.messages import CATALOGUE, text

OLD_CANN = verdict(Host(driver="25.2.0", cann="8.2.RC1", name="w1"), "910B3", "vllm_ascend", "0.18.0")
OLD_DRIVER = verdict(Host(driver="24.1.rc2", name="w2"), "910B3", "vllm_ascend", "0.18.0", brings_cann=True)
FITS = verdict(Host(driver="25.2.0", cann="8.5.1", name="w3"), "910B3", "vllm_ascend", "0.18.0")


@pytest.mark.parametrize(("wrong", "right"), [(OLD_CANN, "0.9.1"), (OLD_DRIVER, "25.")], ids=["CANN", "driver"])
def test_the_refusal_says_what_is_wrong_and_what_would_be_right(wrong: object, right: str) -> None:
    with pytest.raises(Refusal) as refused:
        _must_fit([wrong], named=False)  # type: ignore[list-item]
    assert refused.value.code in CATALOGUE
    said = text(Sentence(refused.value.code, refused.value.params), "en")
    assert right in said
    assert "?" not in said


def test_an_image_brings_its_own_cann() -> None:
    host = Host(driver="25.2.0", cann="8.2.RC1", name="w1")
    assert verdict(host, "910B3", "vllm_ascend", "0.18.0", brings_cann=True).status != "wrong"


def test_one_worker_that_cannot_does_not_keep_the_others_from_it_unless_it_was_named() -> None:
    _must_fit([OLD_CANN, FITS], named=False)
    _must_fit([], named=True)
    with pytest.raises(Refusal):
        _must_fit([OLD_CANN, FITS], named=True)
