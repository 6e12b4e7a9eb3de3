"""The queue of a real gateway: order, bounds, deadlines, clients that leave, and models that sleep."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from gpustack_lite.wire import ModelRoute, Said, Serving
from tests.fakes.gateway_world import KEY, World, route, until
from tests.fakes.route_server import credential
from tests.fakes.scripted_engine import Request, Talk, chat

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]
ONE = Serving(in_flight_per_replica=1)
MAY_SLEEP = Serving(in_flight_per_replica=4, sleep_after_seconds=600)
HEAVY, LIGHT, BATCH = "gpl_a-heavy-key", "gpl_a-light-key", "gpl_a-batch"


class Held:
    """An engine that answers one request after the other, each when it is told to."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(0)
        self.order: list[str] = []

    async def __call__(self, request: Request, talk: Talk) -> None:
        self.order.append(request.json["user"])
        await self.turns.acquire()
        await chat(request, talk)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World(tmp_path, queue_length=3, held_while_waking=150) as made:
        keys = (
            credential(KEY),
            credential(HEAVY, id=7, weight=2),
            credential(LIGHT, id=8),
            credential(BATCH, id=9, kind="batch"),
        )
        await made.server.publish((route("tiny", made.engine.address, serving=ONE),), keys)
        yield made


def asking(world: World, user: str, key: str = KEY, **more: object) -> "asyncio.Task[httpx.Response]":
    headers = {"Authorization": f"Bearer {key}"}
    sent = world.client.post("/v1/chat/completions", json=world.body(user=user, **more), headers=headers)
    return asyncio.create_task(sent)


async def waiting(world: World, count: int, model: str = "tiny") -> None:
    """Until the gateway has told its server that so many wait."""
    await world.server.until(lambda: any(each.queued.get(model, 0) == count for each in world.server.statuses[-1:]))


def not_here(state: str, **fields: object) -> ModelRoute:
    return route("tiny", state=state, serving=MAY_SLEEP, **fields)


async def test_those_who_wait_are_served_by_weight_and_batches_last(world: World) -> None:
    engine = world.engine.script = Held()
    first = asking(world, "first")
    await until(lambda: engine.order == ["first"])
    tasks = [first]
    await world.server.publish(
        (route("tiny", world.engine.address, serving=ONE.model_copy(update={"queue_length": 9})),)
    )
    for count, (user, key) in enumerate([("b", BATCH), ("l1", LIGHT), ("l2", LIGHT), ("h1", HEAVY), ("h2", HEAVY)], 1):
        tasks.append(asking(world, user, key))
        await waiting(world, count)
    for _ in tasks:
        engine.turns.release()
    answers = await asyncio.gather(*tasks)
    assert [each.status_code for each in answers] == [200] * 6
    assert engine.order == ["first", "l1", "h1", "h2", "l2", "b"]
    assert "x-gpustack-queue-seconds" not in answers[0].headers
    assert float(answers[-1].headers["x-gpustack-queue-seconds"]) > 0
    row = await world.row(answers[-1].headers["x-request-id"])
    assert row.queued_seconds > 0


async def test_more_than_may_wait_are_refused_and_who_leaves_makes_room(world: World) -> None:
    engine = world.engine.script = Held()
    tasks = [asking(world, "first")]
    await until(lambda: engine.order == ["first"])
    tasks += [asking(world, f"waits-{index}") for index in range(3)]
    await waiting(world, 3)
    refused = await asking(world, "too-many")
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "queue_full")
    assert refused.json()["error"]["type"] == "rate_limit_error"
    assert 1 <= int(refused.headers["retry-after"]) <= 600
    tasks.pop().cancel()
    await waiting(world, 2)
    tasks.append(asking(world, "in-its-place"))
    await waiting(world, 3)
    for _ in tasks:
        engine.turns.release()
    assert [each.status_code for each in await asyncio.gather(*tasks)] == [200] * 4
    assert len(engine.order) == 4


async def test_who_waits_too_long_is_told_and_costs_the_engine_nothing(world: World) -> None:
    engine = world.engine.script = Held()
    hasty = Serving(in_flight_per_replica=1, queue_seconds=0.5)
    await world.server.publish((route("tiny", world.engine.address, serving=hasty),))
    first = asking(world, "first")
    await until(lambda: engine.order == ["first"])
    late = await asking(world, "late")
    assert (late.status_code, late.json()["error"]["code"]) == (429, "queue_timeout")
    assert "retry-after" in late.headers
    engine.turns.release()
    assert (await first).status_code == 200
    assert engine.order == ["first"]


async def test_a_deleted_model_is_no_reason_to_wait(world: World) -> None:
    engine = world.engine.script = Held()
    tasks = [asking(world, "first"), asking(world, "second")]
    await waiting(world, 1)
    await world.server.publish(())
    engine.turns.release()
    answers = await asyncio.gather(*tasks)
    assert sorted(each.status_code for each in answers) == [200, 404]


async def test_two_hundred_clients_at_a_sleeping_model_get_answers_or_429(world: World) -> None:
    await world.client.aclose()
    wide = httpx.Limits(max_connections=None)
    world.client = httpx.AsyncClient(base_url=world.gateway.url, limits=wide, timeout=60, trust_env=False)
    await world.server.publish((not_here("sleeping", is_coming=True),))
    tasks = [asking(world, str(index)) for index in range(200)]
    await world.server.until(lambda: any("tiny" in each.wake for each in world.server.statuses))
    await waiting(world, 150)
    await until(lambda: sum(task.done() for task in tasks) == 50)
    await world.server.publish((not_here("starting", is_coming=True),))
    await world.server.publish((route("tiny", world.engine.address, serving=MAY_SLEEP),))
    answers = await asyncio.gather(*tasks)
    assert Counter(each.status_code for each in answers) == {200: 150, 429: 50}
    refused = next(each for each in answers if each.status_code == 429)
    assert (refused.json()["error"]["code"], refused.headers["x-gpustack-model-state"]) == ("held_full", "waking")


async def test_a_stream_that_began_with_comments_ends_with_the_real_cause(world: World) -> None:
    await world.server.publish((not_here("sleeping", is_coming=True),))
    loading = {"state": "starting", "phase": "load", "progress": 0.4}
    body = world.body(stream=True)
    async with world.client.stream("POST", "/v1/chat/completions", json=body) as answer:
        lines = answer.aiter_lines()
        assert (answer.status_code, await anext(lines)) == (200, ": waking tiny, sleeping")
        await world.server.publish((not_here("starting", is_coming=True, loading=loading),))
        shown = [await anext(lines) for _ in range(2)]
        assert shown[-1] == ": waking tiny, load 40 %"
        said = Said(code="model_failed", params={"model": "tiny"})
        await world.server.publish((not_here("failed", said=said),))
        rest: list[str] = []
        with contextlib.suppress(httpx.RemoteProtocolError):  # its end is not that of a whole answer
            async for line in lines:
                rest.append(line)
    (event,) = [line for line in rest if line.startswith("data: ")]
    assert "model_not_ready" in event
    assert "failed and is not tried again" in event


async def test_without_its_server_a_gateway_says_that_it_cannot_wake(world: World) -> None:
    await world.server.publish((not_here("sleeping", is_coming=True),))
    await world.server.stop()
    answer = await asking(world, "early")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "model_not_ready")
    assert "only the server can wake it" in answer.json()["error"]["message"]
    assert "retry-after" in answer.headers
