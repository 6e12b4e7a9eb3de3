"""What a model can do for its clients, as far as its engine and its files tell; pure."""

from collections.abc import Mapping
from typing import Any

from backends import registry
from backends.base import Backend
from gpustack_lite.db.tables import Model
from gpustack_lite.domain import Abilities, ModelFacts
from gpustack_lite.errors import Refusal

UNKNOWN = Abilities()
_TOLD = (
    "input_modalities",
    "output_modalities",
    "tools",
    "reasoning",
    "json_schema",
    "embedding_dimensions",
    "spelling",
)


def of_model(
    model: Model, backend_name: str | None, facts: ModelFacts | None, customs: Mapping[str, Mapping[str, Any]]
) -> Abilities:
    """Whatever cannot be found out is unknown, and keeps nobody from being told the rest."""
    try:
        backend = _backend(model, backend_name, facts, customs)
        return UNKNOWN if backend is None else backend.abilities(facts, model.options)
    except Refusal:
        return UNKNOWN


def _backend(
    model: Model, name: str | None, facts: ModelFacts | None, customs: Mapping[str, Mapping[str, Any]]
) -> Backend | None:
    """Raises:
    Refusal: there is no such backend, or its description does not hold any more.
    """
    if name is None:
        return None if facts is None else registry.choose(facts, model.source)
    return registry.with_custom(customs[name]) if name in customs else registry.find(name)


def document(abilities: Abilities) -> dict[str, Any]:
    """For the wire: what is unknown is left out."""
    told = {name: getattr(abilities, name) for name in _TOLD}
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in told.items() if value is not None
    }
