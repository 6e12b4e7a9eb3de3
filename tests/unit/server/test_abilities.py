"""What gateways are told of a model's abilities."""

from typing import Any

import msgspec
import pytest

from gpustack_lite.db.tables import Inspection
from gpustack_lite.domain import Abilities, ModelFacts
from gpustack_lite.server.abilities import UNKNOWN, document, of_model
from gpustack_lite.server.routes import model_routes
from tests.fakes.clock import START
from tests.fakes.rows import a_model
from tests.unit.server.test_routes import view

EMBEDDER = ModelFacts(format="gguf", path="/models/m.gguf", size_bytes=1, embedding_length=384, pooling="mean")


def test_the_facts_of_its_files_and_its_engine_say_what_a_model_can() -> None:
    able = of_model(a_model(), "llama_cpp", EMBEDDER, {})
    assert (able.paths, able.embedding_dimensions) == ({"/v1/embeddings"}, 384)


def test_before_anything_is_placed_the_files_tell_the_engine() -> None:
    assert of_model(a_model(), None, EMBEDDER, {}).paths == {"/v1/embeddings"}


@pytest.mark.parametrize(
    ("backend", "facts", "customs"),
    [
        pytest.param(None, None, {}, id="nothing is known yet"),
        pytest.param("gone", None, {}, id="no such backend"),
        pytest.param("mine", None, {"mine": {"name": "mine", "command": []}}, id="a description that holds no more"),
    ],
)
def test_what_cannot_be_found_out_is_unknown(backend: str | None, facts: None, customs: dict[str, Any]) -> None:
    assert of_model(a_model(), backend, facts, customs) == UNKNOWN


def test_options_that_do_not_hold_any_more_keep_nobody_from_being_told_the_rest() -> None:
    assert of_model(a_model(options={"no-such": 1}), "llama_cpp", EMBEDDER, {}) == UNKNOWN


def test_the_unknown_is_left_out_on_the_wire() -> None:
    assert document(UNKNOWN) == {}
    able = Abilities(tools=False, input_modalities=("text",), spelling="reasoning")
    assert document(able) == {"tools": False, "input_modalities": ["text"], "spelling": "reasoning"}


def test_gateways_are_told() -> None:
    asked = Inspection(source="/models/m.gguf", worker_id=1, asked_at=START, facts=msgspec.to_builtins(EMBEDDER))
    (route,) = model_routes(view(a_model(backend="llama_cpp"), facts={"/models/m.gguf": asked}))
    assert route.paths == ("/v1/embeddings",)
    assert route.abilities["embedding_dimensions"] == 384
    spec = {"name": "mine", "command": ["prog"], "paths": ["/v1/score"], "reasoning": "reasoning"}
    (route,) = model_routes(view(a_model(backend="mine"), customs={"mine": spec}))
    assert (route.paths, route.abilities) == (("/v1/score",), {"spelling": "reasoning"})
