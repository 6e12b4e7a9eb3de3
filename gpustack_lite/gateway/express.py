"""The short way of the most usual request: one plain question, an engine's connection that is idle, a plain answer.

It takes no decision of its own. It asks the same functions in the same order as `Inference` does, and whatever is not
plain goes on there, from the very point that was reached: before anything has happened when the request is not plain
(`begin` answers None), and behind it with what it holds (`Inference.go_on`) when its engine or its answer is not. What
only the long way needs (a call, a wish) is made then. `tests/unit/gateway/test_lanes.py` holds that nobody can tell the
ways apart.
"""

from typing import TYPE_CHECKING, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gpustack_lite.domain import Spelling
from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import bodies, media, media_urls, naming, requests, splicing, tokens
from gpustack_lite.gateway.answers import Field
from gpustack_lite.gateway.bodies import Asked, Piece
from gpustack_lite.gateway.call import Head
from gpustack_lite.gateway.credentials import may_use
from gpustack_lite.gateway.door import Door
from gpustack_lite.gateway.inference import Handed, Inference, Wish
from gpustack_lite.gateway.ledger import Entry, Open, key_id_of
from gpustack_lite.gateway.limits import Hold
from gpustack_lite.gateway.passage import ENDS_WITH_DONE, SSE, UNBUFFERED
from gpustack_lite.gateway.rows import Common
from gpustack_lite.gateway.sse import EventFilter, error_event
from gpustack_lite.gateway.turns import Ask, Place
from gpustack_lite.relay import target
from gpustack_lite.relay.connection import Connection
from gpustack_lite.relay.runs import Run
from gpustack_lite.relay.target import Target
from gpustack_lite.wire import Credential, Endpoint, ModelRoute

if TYPE_CHECKING:
    from gpustack_lite.gateway.lane import LaneCall, ProtocolLane

PATHS = frozenset(
    {"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/rerank", "/v2/rerank", "/v1/score"}
)
"""Those whose answers hold nothing but text and numbers, and whose engines all speak them alike."""
_MOST_PLANS = 4096
_MOST_ANSWERS = 256
_MOST_JOINED_BYTES = 16 * 1024
_SPECIAL = frozenset({b"origin", b"cookie"})


class Way(NamedTuple):
    """To one engine, for one kind of request: where it is, and what the rows of such requests have in common."""

    target: Target
    worker: str | None
    plain: bytes
    stream: bytes


class Plan(NamedTuple):
    """What follows from a key, a path and a name, as long as routes and credentials are what they are."""

    route: ModelRoute
    routes: tuple[ModelRoute, ...]
    ways: dict[int, Way]
    """By instance."""
    reads: Spelling | None
    counts_streams: bool
    """Whether a stream is asked for its usage, and the client need not see it."""


class Shown(NamedTuple):
    """An engine's head as its client gets it. `fields` is kept so that its identity is not used again."""

    fields: list[Field]
    lines: bytes
    is_stream: bool
    is_plain: bool


class Express:
    """Made once; `begin` answers with a `Trip` or leaves everything as it was."""

    def __init__(self, lane: "ProtocolLane", inference: Inference) -> None:
        self.lane = lane
        self.inference = inference
        self.now = inference.now
        self.ledger, self.pool, self.uploads = inference.ledger, inference.pool, inference.uploads
        self._table, self._gate, self._turns = inference.table, inference.gate, inference.turns
        self._limiter = inference.limiter
        self._plans: dict[tuple[str, str, str], Plan | None] = {}
        self._revisions: tuple[object, object] = (None, None)
        self._answers: dict[int, Shown] = {}
        self._defaults: tuple[object, bytes] = (None, b"")

    def begin(self, door: Door, head: Head, body: bytes | bytearray) -> "Trip | None":
        """The request has its place, or nothing has happened."""
        path, size = head.path, len(body)
        if path not in PATHS or door.flow.write_paused or not _SPECIAL.isdisjoint(head.headers):
            return None
        try:
            credential = self._gate.admit_head(head)
            asked = bodies.read(body)
        except Refusal:
            return None
        plan = self._plan(credential, path, asked.model)
        if plan is None or self._turns.lines or not self.uploads.has_room(size):
            return None
        if media_urls.may_name(body) or (plan.reads is not None and splicing.is_misspelt(body, plan.reads)):
            return None
        ask = Ask(credential, path, size, asked.most_tokens, asked.is_stream, body)
        place = self._turns.take(plan.routes, ask)
        if place is None:
            return None
        try:
            hold = self._limiter.enter(credential, plan.route, size, asked.most_tokens)
        except Refusal:  # what is refused was not charged: the long way hears the same
            place.give_back()
            return None
        return Trip(self, door, head, plan, asked=asked, ask=ask, place=place, hold=hold)

    def _plan(self, credential: Credential, path: str, name: str) -> Plan | None:
        table, known = self._table, self._revisions
        if known[0] is not table.models_revision or known[1] is not table.credentials_revision:
            self._revisions = table.models_revision, table.credentials_revision
            self._plans.clear()
        key = credential.digest, path, name
        if key not in self._plans:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = self._made(credential, path, name)
        return self._plans[key]

    def _made(self, credential: Credential, path: str, name: str) -> Plan | None:
        """None where it is not the plain case: an alias, another name or spelling, nobody ready."""
        route = self._table.models.get(name)
        if credential.kind != "key" or route is None or not route.endpoints or not may_use(credential, name):
            return None
        routes = self._table.resolve(name)
        if routes != (route,) or not naming.serves(route, path):
            return None
        if not all(self._is_plain(name, each, route, path) for each in route.endpoints):
            return None
        reads = route.abilities.get("spelling") if path == splicing.CHAT else None
        ways = {each.instance_id: self._way(credential, path, name, each) for each in route.endpoints}
        return Plan(route, routes, ways, reads, path in ENDS_WITH_DONE)

    def _way(self, credential: Credential, path: str, name: str, endpoint: Endpoint) -> Way:
        def text(*, is_stream: bool) -> bytes:
            common = Common(
                name,
                path,
                key_id_of(credential),
                credential.user_id,
                endpoint.instance_id,
                is_stream=is_stream,
                worker=endpoint.worker or None,
            )
            return self.ledger.commons.text(common)

        return Way(target.parse(endpoint.address), endpoint.worker or None, text(is_stream=False), text(is_stream=True))

    def _is_plain(self, name: str, endpoint: Endpoint, route: ModelRoute, path: str) -> bool:
        return splicing.splice_for(name, endpoint, route, path, self.inference.reasoning) is None

    # --- answers

    def shown(self, answer: Connection) -> Shown:
        """By the identity of the fields: heads that are known have the same ones each time."""
        found = self._answers.get(id(answer.fields))
        if found is None or found.fields is not answer.fields:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            found = self._answers[id(answer.fields)] = _shown(answer.fields)
        return found

    def defaults(self, door: Door) -> bytes:
        """The first lines of every answer; a new list each time that they change."""
        fields = door.server_state.default_headers
        if self._defaults[0] is not fields:
            self._defaults = fields, STATUS_LINE[200] + b"".join(b"%s: %s\r\n" % field for field in fields)
        return self._defaults[1]


def _shown(fields: list[Field]) -> Shown:
    kind = next((value for name, value in fields if name == b"content-type"), b"").lower()
    is_packed, is_stream = requests.is_packed(fields), kind.startswith(SSE)
    to_client = [*requests.to_client(fields), UNBUFFERED] if is_stream else requests.to_client(fields)
    lines = b"".join(b"%s: %s\r\n" % field for field in to_client)
    is_plain = not (is_packed or is_stream or kind.startswith(media.BINARY))
    return Shown(fields, lines, is_stream and not is_packed, is_plain)


class Trip:
    """One request under way. To the door it looks like a call, and like the task that works for the client."""

    response_started = False
    response_complete = False
    disconnected = False
    keep_alive = True
    _connection: Connection | None = None
    _events: EventFilter | None = None
    _run: Run | None = None
    _way: Way

    def __init__(
        self,
        express: Express,
        door: Door,
        head: Head,
        plan: Plan,
        *,
        asked: Asked,
        ask: Ask,
        place: Place,
        hold: Hold,
    ) -> None:
        self._express, self._door, self.head = express, door, head
        self._plan, self._asked, self._ask, self._place = plan, asked, ask, place
        self.id = express.lane.surface.unique_id()
        self.shown_id = head.given_id or self.id.encode()
        self._hides = asked.is_stream and plan.counts_streams and not asked.wants_usage
        self._pieces: list[Piece] = bodies.with_usage_asked(ask.body, asked) if self._hides else [ask.body]
        self._held_bytes = ask.prompt_bytes
        express.uploads.held_bytes += ask.prompt_bytes
        self._entry = entry = Entry(express.ledger, self.id, ask.credential, place.route.name, ask.path)
        place.entry = entry
        entry.hold = hold
        entry.cut = self._end
        if ask.is_stream:
            entry.is_stream = True
        if head.given_id is not None:
            entry.shown_id = head.given_id.decode()
        express.ledger.running.add(entry)
        door.task = self

    # --- the engine

    def go_on(self) -> None:
        """The first time, its engine is asked."""
        if self._connection is not None or self._run is not None:
            return
        express, endpoint, entry = self._express, self._place.endpoint, self._entry
        self._way = way = self._plan.ways[self._place.instance_id]
        connection = express.pool.take_idle(way.target)
        if connection is None:
            self._hand_over()
            return
        entry.instance_id, entry.worker = self._place.instance_id, way.worker
        if entry.shown_id is None:
            entry.record(way.stream if entry.is_stream else way.plain)
        else:
            entry.reach(self._place.instance_id, endpoint.worker)
        self._connection = connection
        size = self._held_bytes if not self._hides else sum(map(len, self._pieces))
        parts = [requests.to_engine(self.head, self.shown_id, endpoint, size), *self._pieces]
        connection.begin(b"POST", [b"".join(parts)] if size < _MOST_JOINED_BYTES else parts, express.pool.patience)
        connection.listen(self._heard)

    def _heard(self) -> None:
        """Something has come from the engine, or the connection has ended."""
        answer = self._connection
        assert answer is not None
        if answer.failure is None and answer.status == 200 and not self._door.flow.write_paused:
            shown = self._express.shown(answer)
            if shown.is_plain and answer.is_complete:
                self._pass_whole(shown, answer)
                return
            if shown.is_stream and not answer.is_close_delimited:
                self._begin_stream(shown, answer)
                return
        self._hand_over()

    # --- the answer

    def _pass_whole(self, shown: Shown, answer: Connection) -> None:
        body = answer.take()
        self._let_go(answer)
        self._entry.usage = tokens.of_answer(body)
        self._entry.end(200)
        self._door.transport.write(
            b"%s%s%sx-request-id: %s\r\ncontent-length: %d\r\n\r\n%s"
            % (self._express.defaults(self._door), shown.lines, self._entry.hold.lines, self.shown_id, len(body), body)
        )
        self._leave(answer)

    def _let_go(self, answer: Connection) -> None:
        """The engine has begun to answer: nobody will send the body again."""
        self._place.flight.answer = answer
        self._pieces = []
        self._express.uploads.held_bytes -= self._held_bytes
        self._held_bytes = 0

    def _begin_stream(self, shown: Shown, answer: Connection) -> None:
        self._let_go(answer)
        self._events = self._entry.events = EventFilter(hides_usage=self._hides)
        self.response_started = True
        self._door.transport.write(
            b"%s%s%sx-request-id: %s\r\ntransfer-encoding: chunked\r\n\r\n"
            % (self._express.defaults(self._door), shown.lines, self._entry.hold.lines, self.shown_id)
        )
        answer.flow(self._pass)
        self._more()

    def _pass(self, data: bytes, now: float) -> bool:
        """Whole chunks of the stream."""
        events, door = self._events, self._door
        if events is None or door.flow.write_paused:
            return False
        passed = events.feed(data)
        self._entry.note_content(now)
        if passed:
            door.transport.write(b"%x\r\n%s\r\n" % (len(passed), passed))
        return True

    def _more(self) -> None:
        """What else has come of it; a client that takes nothing is waited for by a coroutine."""
        answer, events, flow = self._connection, self._events, self._door.flow
        assert answer is not None
        assert events is not None
        if not flow.write_paused and (data := answer.take()):
            self._pass(data, self._express.now())
        if answer.failure is not None or flow.write_paused:
            self._hand_over()
        elif answer.is_complete:
            self._end_stream(events, answer)
        else:
            answer.listen(self._more)

    def _end_stream(self, events: EventFilter, answer: Connection) -> None:
        last = events.end()
        self._entry.end(502 if events.has_error else 200, "engine_error" if events.has_error else None)
        self._door.transport.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(last), last) if last else b"0\r\n\r\n")
        self._leave(answer)

    def _leave(self, answer: Connection) -> None:
        """As the `with` statements of the long way are left: connection, place, account."""
        answer.flow(None)
        express, door = self._express, self._door
        express.pool.take_back(self._way.target, answer)
        self._place.give_back()
        express.ledger.left(self._entry)
        express.lane.count(200)
        self.response_started = self.response_complete = True
        if door.task is self:
            door.task = None
        door.ride_ended()

    # --- the long way

    def cancel(self) -> None:
        """The client has left, or somebody ends the request: what that means is said in one place."""
        self._hand_over().cancel()

    def _end(self, refusal: Refusal) -> None:
        self._hand_over()
        if self._entry.cut is not None:
            self._entry.cut(refusal)

    def _hand_over(self) -> Run:
        """From here on it is the long way, in a coroutine."""
        connection, events = self._connection, self._events
        if connection is not None:
            connection.flow(None)
        call = self._express.lane.call_of(self)
        call.extra_fields += self._entry.hold.fields
        if events is not None:
            call.has_begun_chunks()
            call.last_words = error_event
        self._entry.cut = call.end
        self._entry.public_name = None
        handed = Handed(Open(self._express.ledger, self._entry), self._place, connection, events)
        self._run = call.carry_on(self._express.inference.go_on(call, self._wish(call), handed))
        return self._run

    def _wish(self, call: "LaneCall") -> Wish:
        upload = self._express.uploads.held(call)
        upload.held_bytes = self._held_bytes
        return Wish(self._plan.routes, self._asked, self._ask, self._pieces, self._hides, upload)

    # --- what uvicorn looks at

    def take(self, body: bytes) -> None:
        """Its body has come before it."""

    def is_whole(self) -> None:
        """It was so from the beginning."""

    def has_room(self) -> None:
        """Who waits for room is a coroutine."""

    @property
    def door(self) -> Door:
        return self._door

    @property
    def message_event(self) -> "Trip":
        return self

    def set(self) -> None:
        """The client has left: the door cancels what it works on."""
