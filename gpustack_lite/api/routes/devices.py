"""Devices of all workers: what they have, what we claimed, what others use, and what is kept out of use."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from gpustack_lite.api.auth import Admin, Reader
from gpustack_lite.api.context import Context, Ctx
from gpustack_lite.api.replies import PageWish, reply, reply_page, shows
from gpustack_lite.api.schemas.bodies import CordonSpec
from gpustack_lite.api.schemas.public import DeviceShape, Listed
from gpustack_lite.db import auditing
from gpustack_lite.db.queries import cordons, devices, workers
from gpustack_lite.db.queries.cordons import Cordon

router = APIRouter(prefix="/devices", tags=["devices"])


@router.get("", responses=shows(Listed[DeviceShape]))
async def list_devices(
    _: Reader, request: Request, context: Ctx, wish: PageWish, worker: str | None = None
) -> JSONResponse:
    async with context.db.read() as session:
        worker_id = None if worker is None else (await workers.by_ref(session, worker)).id
        page = await devices.listed(session, wish, worker_id=worker_id)
    return reply_page(request, page)


@router.get("/{ref}", responses=shows(DeviceShape))
async def show_device(ref: str, _: Reader, request: Request, context: Ctx) -> JSONResponse:
    """By id, or as worker:index."""
    async with context.db.read() as session:
        document = await devices.document(session, await devices.by_ref(session, ref))
    return reply(request, document)


@router.post("/{ref}/cordon", responses=shows(DeviceShape))
async def cordon_device(
    ref: str, signed_in: Admin, request: Request, context: Ctx, spec: CordonSpec | None = None
) -> JSONResponse:
    """Nothing new is placed on it; what runs there goes on. The cordon goes with the card."""
    note = None if spec is None else spec.note
    return await _set(ref, request, context, Cordon(signed_in.caller.username, note))


@router.post("/{ref}/uncordon", responses=shows(DeviceShape))
async def uncordon_device(ref: str, signed_in: Admin, request: Request, context: Ctx) -> JSONResponse:
    """Ends an isolation for a fault too; the fault that is there now is not acted on again."""
    return await _set(ref, request, context, Cordon(signed_in.caller.username, ends=True))


async def _set(ref: str, request: Request, context: Context, cordon: Cordon) -> JSONResponse:
    async with context.db.write() as session:
        device = await devices.by_ref(session, ref)
        auditing.note(session, "uncordon" if cordon.ends else "cordon", "device", device.id, "")
        await cordons.put(session, device, cordon, context.ports.clock)
        document = await devices.document(session, device)
    context.signals.touch("workers", "changes")
    return reply(request, document)
