"""Limits as somebody sent them, merged into those that are stored: null takes one away, what is absent stays."""

from collections.abc import Mapping
from typing import Any

from gpustack_lite.api import rules
from gpustack_lite.api.schemas.bodies import LimitsSpec


def merged(stored: Mapping[str, Any] | None, wish: LimitsSpec | None) -> dict[str, Any] | None:
    """What to store: None where nothing is limited.

    Raises:
        Refusal: `timezone_unknown`.
    """
    if wish is None:
        return None
    after = {**(stored or {}), **wish.model_dump(include=wish.model_fields_set)}
    rules.check_timezone(after.get("timezone", "UTC"), "limits.timezone")
    limits = {name: value for name, value in after.items() if value is not None}
    return limits if limits.keys() - {"timezone"} else None
