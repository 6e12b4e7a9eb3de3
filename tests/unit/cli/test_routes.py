import pytest

from gpustack_lite.cli.routes import target_of, targets_shown


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("m", {"model": "m"}),
        ("org/m:q4", {"model": "org/m:q4"}),
        ("org/m:q4=9", {"model": "org/m:q4", "weight": 9}),
        ("a=b", {"model": "a=b"}),
        ("a=b=0", {"model": "a=b", "weight": 0}),
    ],
)
def test_a_target_is_a_model_and_its_weight(text: str, target: dict[str, object]) -> None:
    assert target_of(text) == target


def test_targets_are_shown_as_they_are_given() -> None:
    assert targets_shown({"targets": [{"model": "a", "weight": 1}, {"model": "b", "weight": 9}]}) == "a=1, b=9"
