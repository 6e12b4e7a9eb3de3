"""One prompt to several models at once."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from gpustack_lite.api import comparing
from gpustack_lite.api.auth import Asker, CredentialFirst
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.refusals import language
from gpustack_lite.api.schemas.bodies import Comparison

router = APIRouter(tags=["inference"], route_class=CredentialFirst)
_SHOWN = ("authorization", "x-api-key", "cookie", "x-csrf-token", "accept-language")


@router.post("/compare", response_class=Response, responses={200: {"content": {"text/event-stream": {}}}})
async def compare(body: Comparison, _: Asker, request: Request, context: Ctx) -> StreamingResponse:
    """Server-sent events: the answers to `request`, a chat completion, as each of `models` gives it."""
    fields = [(name.encode(), request.headers[name].encode("latin-1")) for name in _SHOWN if name in request.headers]
    requests = [{**body.request, "model": model} for model in body.models]
    told = comparing.stream(context, fields, requests, language(request))
    return StreamingResponse(told, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
