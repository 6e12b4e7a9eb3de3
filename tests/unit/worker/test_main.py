"""What a worker is started with."""

import pytest

from gpustack_lite.errors import Refusal
from worker.main import parse_labels


def test_labels() -> None:
    assert parse_labels("zone=a, rack=7,empty=") == {"zone": "a", "rack": "7", "empty": ""}
    assert parse_labels("") == {}


@pytest.mark.parametrize("text", ["zone", "=a", "a=1,b"])
def test_bad_labels_are_refused(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_labels(text)
    assert caught.value.code == "bad_labels"
