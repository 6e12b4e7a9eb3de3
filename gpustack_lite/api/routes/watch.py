"""One stream of everything that changes."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from gpustack_lite.api.auth import Reader
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.refusals import language
from gpustack_lite.api.watching import stream
from gpustack_lite.errors import Refusal

router = APIRouter(tags=["watch"])


@router.get("/watch", response_class=Response, responses={200: {"content": {"text/event-stream": {}}}})
async def watch(
    signed_in: Reader,
    request: Request,
    context: Ctx,
    after: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Server-sent events; `Last-Event-ID` or `after` resumes. Start with a list's `revision` and nothing is missed."""
    position = _position(last_event_id, after)
    told = stream(context, signed_in, position, language(request))
    return StreamingResponse(told, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _position(last_event_id: str | None, after: int | None) -> int | None:
    """What the browser remembers of the stream is later than the address it was opened with."""
    if not last_event_id:
        return after
    if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= 18):
        raise Refusal("field_not_integer", param="Last-Event-ID", name="Last-Event-ID")
    return int(last_event_id)
