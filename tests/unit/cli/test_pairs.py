import pytest
import typer

from gpustack_lite.cli.pairs import labels_of, options_of


@pytest.mark.parametrize(
    ("pair", "option"),
    [
        ("max-model-len=4096", {"max-model-len": 4096}),
        ("--ctx-size=8192", {"ctx-size": 8192}),
        ("gpu-memory-utilization=0.9", {"gpu-memory-utilization": 0.9}),
        ("enforce-eager", {"enforce-eager": True}),
        ("jinja=false", {"jinja": False}),
        ("dtype=bfloat16", {"dtype": "bfloat16"}),
        ("chat-template=a=b", {"chat-template": "a=b"}),
        ('override={"a": [1]}', {"override": {"a": [1]}}),
        ("empty=", {"empty": ""}),
    ],
)
def test_an_option_takes_the_type_that_it_looks_like(pair: str, option: dict[str, object]) -> None:
    assert options_of([pair]) == option


def test_a_label_stays_a_text() -> None:
    assert labels_of(["zone=7", "rack=a=b"], "--label") == {"zone": "7", "rack": "a=b"}


@pytest.mark.parametrize("pair", ["zone", "=b", ""])
def test_what_is_no_pair_is_wrong_usage(pair: str) -> None:
    with pytest.raises(typer.BadParameter):
        labels_of([pair], "--label")
