"""An engine that gave no whole answer, in words for the client."""

from gpustack_lite.errors import Refusal
from gpustack_lite.relay.connection import Patience
from gpustack_lite.relay.failures import UpstreamFailed


def refusal_of(failure: UpstreamFailed, *, model: str, patience: Patience) -> Refusal:
    if failure.never_reached:
        return Refusal("engine_unreachable", status=502, model=model)
    if failure.cause == "first_byte_timeout":
        return Refusal("engine_timeout", status=504, model=model, seconds=f"{patience.first_byte_seconds:g}")
    if failure.cause == "idle_timeout":
        return Refusal("engine_timeout", status=504, model=model, seconds=f"{patience.idle_seconds:g}")
    if failure.cause in {"not_http", "head_too_large"}:
        return Refusal("engine_not_http", status=502, model=model)
    return Refusal("engine_broke", status=502, model=model, cause=failure.cause)
