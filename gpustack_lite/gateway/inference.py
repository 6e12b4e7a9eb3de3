"""POST below /v1: credential, body, model, lease, and then bytes from the engine to the client as they come.

Both lanes run this very code. On the protocol lane no task is behind it (see `relay/runs.py`): where nothing must be
waited for, await nothing; before what asks asyncio for the current task (`timeout`, `TaskGroup`), `await in_task()`.
Awaiting a future, an Event or a Lock needs no such word: the run becomes a task by itself.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import (
    anthropic,
    bodies,
    dialects,
    forms,
    media_urls,
    naming,
    requests,
    splicing,
    token_counting,
)
from gpustack_lite.gateway.anthropic.rewriters import Passed
from gpustack_lite.gateway.bodies import Asked, Piece
from gpustack_lite.gateway.call import Call
from gpustack_lite.gateway.control import CatchUp
from gpustack_lite.gateway.credentials import may_use
from gpustack_lite.gateway.dialects import Dialects, Form
from gpustack_lite.gateway.engine_failures import refusal_of
from gpustack_lite.gateway.form_uploads import FormUpload, FormUploads
from gpustack_lite.gateway.forms import Fields
from gpustack_lite.gateway.gate import Gate
from gpustack_lite.gateway.ledger import Entry, Ledger, Open
from gpustack_lite.gateway.limits import Limiter
from gpustack_lite.gateway.passage import ENDS_WITH_DONE, Passage
from gpustack_lite.gateway.rewriting import Rewriter
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.gateway.splicing import Wanted
from gpustack_lite.gateway.sse import EventFilter
from gpustack_lite.gateway.turns import Ask, Place, Turns
from gpustack_lite.gateway.uploads import Upload, Uploads
from gpustack_lite.gateway.waiting import Queueing
from gpustack_lite.relay import target
from gpustack_lite.relay.connection import Connection
from gpustack_lite.relay.failures import UpstreamFailed
from gpustack_lite.relay.pool import Lent, Pool
from gpustack_lite.relay.runs import in_task
from gpustack_lite.wire import Credential, ModelRoute

JSON_PATHS = frozenset(
    {
        "/v1/audio/speech",
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/embeddings",
        "/v1/images/generations",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/moderations",
        "/v1/rerank",
        "/v1/responses",
        "/v1/score",
        "/v2/rerank",
    }
)
PATHS = JSON_PATHS | forms.PATHS
"""Nothing else of an engine is reachable: /v1/load_lora_adapter and its like stay inside."""
TRIES = 2
ACTING_PATHS = frozenset({"/v1/responses"})
"""An engine may store such an answer, go on with it in the background, or call tools: what it may have read is not sent
again, to no replica and on no other connection."""
BUSY = frozenset({502, 503})


@dataclass(frozen=True, slots=True)
class Wish:
    """What a body asks for, and the bytes to send. `routes` are the models that may answer, the first one first."""

    routes: tuple[ModelRoute, ...]
    asked: Asked
    ask: Ask
    pieces: list[Piece]
    hides_usage: bool
    upload: Upload | FormUpload
    rewriter: Rewriter | None = None
    fields: Fields | None = None

    def let_go(self) -> None:
        """The engine has begun to answer: nobody will send the body again."""
        self.pieces.clear()
        self.upload.let_go()


class Handed(NamedTuple):
    """A request that has its place: its account, its connection if its engine was asked, its stream if it began."""

    opened: Open
    place: Place
    connection: Connection | None
    events: EventFilter | None


class AnotherReplica(Exception):
    """This one did not begin to answer."""


class Inference:
    def __init__(
        self,
        table: RouteTable,
        gate: Gate,
        pool: Pool,
        ledger: Ledger,
        uploads: Uploads,
        *,
        form_uploads: FormUploads,
        catch_up: CatchUp,
        limiter: Limiter,
        turns: Turns,
        reasoning: Wanted = "reasoning_content",
        media_hosts: Collection[media_urls.Host] = frozenset(),
    ) -> None:
        self.table = self._table = table
        self.gate = self._gate = gate
        self.pool = self._pool = pool
        self.ledger = self._ledger = ledger
        self.uploads = self._uploads = uploads
        self._form_uploads = form_uploads
        self._catch_up = catch_up
        self.limiter = self._limiter = limiter
        self.turns = self._turns = turns
        self.reasoning = self._reasoning = reasoning
        self._media_hosts = media_hosts
        self.now = ledger.clock.monotonic
        self._dialects = Dialects()

    async def serve(self, call: Call) -> None:
        credential = self._admit(call)
        uploads = self._form_uploads if call.path in forms.PATHS else self._uploads
        opened = self._ledger.open(call.id, credential, "", call.path, shown_id=call.shown_id.decode())
        with uploads.held(call) as upload, opened as entry:
            entry.cut = call.end
            wish = await self._wish(call, upload, credential, entry)
            entry.audio_seconds = wish.fields.audio_seconds if wish.fields else None
            prompt_bytes = 0 if wish.fields else wish.ask.prompt_bytes  # sound and pictures are no tokens by their size
            entry.hold = self._limiter.enter(credential, wish.routes[0], prompt_bytes, wish.ask.most_tokens)
            call.extra_fields += entry.hold.fields
            await self._try_replicas(call, wish, entry)

    async def go_on(self, call: Call, wish: Wish, handed: Handed) -> None:
        """A request that began on the short way (`express.py`), from where its engine was asked."""
        with wish.upload, handed.opened.again() as entry:
            if handed.events is None or handed.connection is None:
                await self._try_replicas(call, wish, entry, handed)
            else:
                await self._go_on_streaming(call, wish, handed, handed.connection, handed.events)

    async def _go_on_streaming(
        self, call: Call, wish: Wish, handed: Handed, answer: Connection, events: EventFilter
    ) -> None:
        entry, patience = handed.opened.entry, self._pool.patience
        with handed.place as endpoint, self._pool.lend(target.parse(endpoint.address), answer):
            await Passage(call, answer, entry, wish.hides_usage, patience, self.now).go_on(events)

    def _admit(self, call: Call) -> Credential:
        """A key that is known and may not pass leaves a row too: its owner will ask why."""
        try:
            return self._gate.admit(call)
        except Refusal as refusal:
            if owner := self._gate.known(call):
                entry = self._ledger.open(call.id, owner, "", call.path, shown_id=call.shown_id.decode()).entry
                entry.end(refusal.status, refusal.code)
                self._ledger.close(entry)
            raise

    async def _form_wish(self, call: Call, upload: FormUpload, credential: Credential, entry: Entry) -> Wish:
        fields = await upload.read()
        entry.asks_for(fields.model, is_stream=fields.is_stream)
        routes = naming.able(fields.model, await self._routes(fields.model, credential), call.path)
        asked = Asked(fields.model, fields.is_stream, wants_usage=False, stream_options=None)
        ask = Ask(credential, call.path, upload.kept_bytes, None, fields.is_stream, b"")
        return Wish(routes, asked, ask, [], hides_usage=False, upload=upload, fields=fields)

    async def _wish(self, call: Call, upload: Upload | FormUpload, credential: Credential, entry: Entry) -> Wish:
        """A stream is asked for its usage always: it is counted, and taken out again where the client did not ask."""
        if isinstance(upload, FormUpload):
            return await self._form_wish(call, upload, credential, entry)
        body = await upload.read()
        asked = bodies.read(body)
        entry.asks_for(asked.model, is_stream=asked.is_stream)
        media_urls.check(body, self._media_hosts)
        is_ours = asked.is_stream and call.path in ENDS_WITH_DONE and not asked.wants_usage
        pieces: list[Piece] = bodies.with_usage_asked(body, asked) if is_ours else [body]
        ask = Ask(credential, call.path, len(body), asked.most_tokens, asked.is_stream, body)
        routes = await self._routes(asked.model, credential)
        return Wish(naming.able(asked.model, routes, call.path), asked, ask, pieces, is_ours, upload)

    async def _routes(self, name: str, credential: Credential) -> tuple[ModelRoute, ...]:
        """Before we say that there is no model, or no replica, we ask whether that is still so."""
        if not self._table.is_served(name):
            await in_task()
            await self._catch_up()
        routes = self._table.resolve(name)
        if not may_use(credential, name, self._table.adapted.get(name)):
            raise Refusal("model_not_allowed", status=403, param="model", model=name)
        return routes

    async def _try_replicas(self, call: Call, wish: Wish, entry: Entry, handed: Handed | None = None) -> None:
        queueing = Queueing(self._turns, call, wish.ask)
        try:
            await self._try_in_turn(queueing, wish, entry, handed)
        except Refusal as refusal:
            if not queueing.has_begun:
                raise
            await queueing.call.refuse(refusal)

    async def _try_in_turn(self, queueing: Queueing, wish: Wish, entry: Entry, handed: Handed | None) -> None:
        tried: list[int] = []
        while True:
            begun, place, handed = handed and handed.connection, handed and handed.place, None
            place = place or self._turns.take(wish.routes, wish.ask, tried)
            if place is None:
                place = await queueing.place(wish.routes, tried)
                entry.queued_seconds = queueing.waited_seconds
            with place as endpoint:
                entry.model = place.route.name
                entry.public_name = None if place.route.name == wish.asked.model else wish.asked.model
                place.entry = entry
                tried.append(endpoint.instance_id)
                is_last = len(tried) >= TRIES or not self._turns.has_another(wish.routes, tried)
                try:
                    call = queueing.call
                    if self._dialects.speaks(place.route, endpoint, call.path):
                        form = self._as_it_came(wish, place)
                        await self._ask(call, wish, form, place, entry, is_last=is_last, begun=begun)
                    else:
                        await self._translate(call, wish, place, entry, is_last=is_last)
                    return
                except AnotherReplica:
                    continue

    def _as_it_came(self, wish: Wish, place: Place) -> Form:
        path = wish.ask.path
        splice = splicing.splice_for(wish.asked.model, place.endpoint, place.route, path, self._reasoning)
        rewriter = wish.rewriter or splice
        if path in anthropic.PATHS:
            return Form(path, wish.pieces, False, Passed(rewriter), may_change=True)
        return Form(path, wish.pieces, wish.hides_usage, rewriter)

    async def _translate(self, call: Call, wish: Wish, place: Place, entry: Entry, *, is_last: bool) -> None:
        if call.path == anthropic.COUNT_TOKENS:
            await self._count(call, wish, place, entry)
            return
        form = dialects.translated(wish.pieces, place.route.abilities.get("spelling"), call.document_of)
        await self._ask(call, wish, form, place, entry, is_last=is_last)

    async def _count(self, call: Call, wish: Wish, place: Place, entry: Entry) -> None:
        known_as = naming.for_engine(wish.asked.model, place.route, place.endpoint)
        conversation = dialects.conversation(wish.pieces, known_as)
        entry.reach(place.endpoint.instance_id, place.endpoint.worker)
        try:
            counted = await token_counting.count(call, conversation, place.endpoint, self._pool)
        except UpstreamFailed as failure:
            raise self._failed(failure, entry, is_last=True) from failure
        if counted is None:
            entry.end(404, "tokens_not_countable")
            raise Refusal("tokens_not_countable", status=404, param="model", model=wish.asked.model)
        entry.end(200)
        await call.answer_json(200, {"input_tokens": counted})

    async def _ask(
        self,
        call: Call,
        wish: Wish,
        form: Form,
        place: Place,
        entry: Entry,
        *,
        is_last: bool,
        begun: Connection | None = None,
    ) -> None:
        """With `begun` it was asked already, on this connection."""
        if begun is None:
            entry.reach(place.endpoint.instance_id, place.endpoint.worker)
        try:
            lent = await self._send(call, wish, form, place, may_repeat=is_last, begun=begun)
        except UpstreamFailed as failure:
            raise self._failed(failure, entry, is_last=is_last or _may_have_acted(call, failure)) from failure
        with lent as answer:
            if answer.status in BUSY and not is_last and _may_ask_again(call, answer.status):
                raise AnotherReplica
            if not (form.may_change and answer.status in dialects.LACKING):
                place.flight.answer = answer
                wish.let_go()
                await self._pass_on(call, answer, form, entry)
                return
        entry.reached_nobody()  # it did not know the path: nothing has been done yet
        self._dialects.note_lack(place.endpoint, call.path)
        await self._translate(call, wish, place, entry, is_last=is_last)

    async def _pass_on(self, call: Call, answer: Connection, form: Form, entry: Entry) -> None:
        now, patience = self._ledger.clock.monotonic, self._pool.patience
        await Passage(call, answer, entry, form.hides_usage, patience, now, form.rewriter, form.path).pass_on()

    async def _send(
        self, call: Call, wish: Wish, form: Form, place: Place, *, may_repeat: bool, begun: Connection | None = None
    ) -> Lent:
        endpoint = place.endpoint
        if isinstance(wish.upload, FormUpload) and wish.fields is not None:
            return await wish.upload.send(self._pool, endpoint, wish.fields, may_repeat=may_repeat)
        pieces = _for_engine(wish, form, place)
        path = None if form.path == call.path else form.path
        head = requests.to_engine(call.head, call.shown_id, endpoint, sum(map(len, pieces)), path=path)
        is_safe = call.path not in ACTING_PATHS
        where, parts = target.parse(endpoint.address), [head, *pieces]
        return await self._pool.request(where, b"POST", parts, may_reuse=is_safe, may_repeat=may_repeat, begun=begun)

    def _failed(self, failure: UpstreamFailed, entry: Entry, *, is_last: bool) -> Exception:
        """An engine that is slow to begin may be at work: asking a second one would make it two."""
        if failure.never_reached:
            entry.reached_nobody()
        if not is_last and failure.cause != "first_byte_timeout":
            return AnotherReplica()
        refusal = refusal_of(failure, model=entry.model, patience=self._pool.patience)
        entry.end(refusal.status, failure.cause)
        return refusal


def _may_ask_again(call: Call, status: int) -> bool:
    """503 is said by an engine that has not begun; 502 by something in front of one that may have."""
    return status == 503 or call.path not in ACTING_PATHS


def _may_have_acted(call: Call, failure: UpstreamFailed) -> bool:
    return call.path in ACTING_PATHS and not failure.never_reached


def _for_engine(wish: Wish, form: Form, place: Place) -> list[Piece]:
    """The body under the name, and with the reasoning in the spelling, that this engine knows."""
    pieces = list(form.pieces)
    reads = place.route.abilities.get("spelling")
    if reads is not None and wish.ask.path == splicing.CHAT and splicing.is_misspelt(wish.ask.body, reads):
        pieces = [splicing.as_read(b"".join(pieces), reads)]
    known_as = naming.for_engine(wish.asked.model, place.route, place.endpoint)
    if known_as != wish.asked.model:
        pieces = bodies.with_model(pieces, known_as)
    return pieces
