"""POST /evaluate: the body of a model, and whether it would fit."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from gpustack_lite.api import evaluating
from gpustack_lite.api.auth import Admin, CredentialFirst
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import reply, shows
from gpustack_lite.api.schemas.bodies import Evaluate
from gpustack_lite.api.schemas.public import EvaluationShape

router = APIRouter(tags=["models"], route_class=CredentialFirst)


@router.post("/evaluate", responses=shows(EvaluationShape))
async def evaluate_model(body: Evaluate, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    """Nothing is downloaded, started or kept."""
    return reply(request, await evaluating.evaluate(context, body))
