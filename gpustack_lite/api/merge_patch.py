"""RFC 7396: what is null goes, what is an object is merged, everything else replaces."""

from collections.abc import Mapping
from typing import Any


def merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result
