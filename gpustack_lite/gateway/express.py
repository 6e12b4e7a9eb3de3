"""The short way of the most usual request: one plain question, an engine's connection that is idle, a plain answer.

It takes no decision of its own. It asks the same functions in the same order as `Inference` does, and whatever is not
plain goes on there, from the very point that was reached: before anything has happened when the request is not plain
(`start` answers False), and behind it with the engine's connection in hand (`Inference.go_on`) when the answer is not.
`tests/unit/gateway/test_lanes.py` holds that nobody can tell the ways apart.
"""

from typing import TYPE_CHECKING, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gpustack_lite.domain import Spelling
from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import bodies, media, naming, requests, splicing, tokens
from gpustack_lite.gateway.answers import Field
from gpustack_lite.gateway.credentials import may_use
from gpustack_lite.gateway.inference import Handed, Inference, Wish
from gpustack_lite.gateway.ledger import Entry, Open
from gpustack_lite.gateway.limits import Hold
from gpustack_lite.gateway.passage import ENDS_WITH_DONE, SSE, UNBUFFERED
from gpustack_lite.gateway.sse import EventFilter, error_event
from gpustack_lite.gateway.turns import Ask, Place
from gpustack_lite.relay import target
from gpustack_lite.relay.connection import Connection
from gpustack_lite.relay.runs import Run
from gpustack_lite.relay.target import Target
from gpustack_lite.wire import Credential, Endpoint, ModelRoute

if TYPE_CHECKING:
    from gpustack_lite.gateway.lane import LaneCall

PATHS = frozenset(
    {"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/rerank", "/v2/rerank", "/v1/score"}
)
"""Those whose answers hold nothing but text and numbers, and whose engines all speak them alike."""
_MOST_PLANS = 4096
_MOST_ANSWERS = 256
_SPECIAL = frozenset({b"origin", b"cookie"})


class Plan(NamedTuple):
    """What follows from a key, a path and a name, as long as routes and credentials are what they are."""

    route: ModelRoute
    routes: tuple[ModelRoute, ...]
    targets: tuple[Target, ...]
    reads: Spelling | None


class Shown(NamedTuple):
    """An engine's head as its client gets it. `fields` is kept so that its identity is not used again."""

    fields: list[Field]
    lines: bytes
    is_stream: bool
    is_plain: bool


class Express:
    """Made once; `start` begins a `Trip` or leaves everything as it was."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._plans: dict[tuple[str, str, str], Plan | None] = {}
        self._revisions: tuple[object, object] = (None, None)
        self._answers: dict[int, Shown] = {}
        self._defaults: tuple[object, bytes] = (None, b"")

    def start(self, call: "LaneCall") -> "Trip | None":
        """The request is under way, or nothing has happened."""
        head, parts = call.head, self.inference
        path = head.path
        if path not in PATHS or not call.is_patient or not _SPECIAL.isdisjoint(call.headers):
            return None
        try:
            credential = parts.gate.admit(call)
            asked = bodies.read(call.whole_body)
        except Refusal:
            return None
        plan = self._plan(credential, path, asked.model)
        if plan is None or parts.turns.has_lines or not self._has_idle(plan):
            return None
        body = call.whole_body
        if not parts.uploads.has_room(len(body)) or (plan.reads is not None and splicing.is_misspelt(body, plan.reads)):
            return None
        ask = Ask(credential, path, len(body), asked.most_tokens, asked.is_stream, body)
        place = parts.turns.take(plan.routes, ask)
        if place is None:
            return None
        try:
            hold = parts.limiter.enter(credential, plan.route, len(body), asked.most_tokens)
        except Refusal:  # what is refused was not charged: the long way hears the same
            place.give_back()
            return None
        hides = asked.is_stream and path in ENDS_WITH_DONE and not asked.wants_usage
        pieces: list[bodies.Piece] = bodies.with_usage_asked(body, asked) if hides else [body]
        upload = parts.uploads.held(call)
        upload.hold_whole(len(body))
        wish = Wish(plan.routes, asked, ask, pieces, hides, upload)
        return Trip(self, call, wish, place, hold)

    def _plan(self, credential: Credential, path: str, name: str) -> Plan | None:
        table = self.inference.table
        if self._revisions[0] is not table.models_revision or self._revisions[1] is not table.credentials_revision:
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
        parts = self.inference
        route = parts.table.models.get(name)
        if credential.kind != "key" or route is None or not route.endpoints or not may_use(credential, name):
            return None
        routes = parts.table.resolve(name)
        if routes != (route,) or not naming.serves(route, path):
            return None
        if not all(self._is_plain(name, each, route, path) for each in route.endpoints):
            return None
        reads = route.abilities.get("spelling") if path == splicing.CHAT else None
        return Plan(route, routes, tuple(target.parse(each.address) for each in route.endpoints), reads)

    def _is_plain(self, name: str, endpoint: Endpoint, route: ModelRoute, path: str) -> bool:
        return splicing.splice_for(name, endpoint, route, path, self.inference.reasoning) is None

    def _has_idle(self, plan: Plan) -> bool:
        return all(self.inference.pool.has_idle(each) for each in plan.targets)

    # --- answers

    def shown(self, answer: Connection) -> Shown:
        """By the identity of the fields: heads that are known have the same ones each time."""
        found = self._answers.get(id(answer.fields))
        if found is None or found.fields is not answer.fields:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            found = self._answers[id(answer.fields)] = _shown(answer.fields)
        return found

    def defaults(self, fields: list[Field]) -> bytes:
        """Those of every answer; a new list each time that they change."""
        if self._defaults[0] is not fields:
            self._defaults = fields, b"".join(b"%s: %s\r\n" % field for field in fields)
        return self._defaults[1]


def _shown(fields: list[Field]) -> Shown:
    kind = next((value for name, value in fields if name == b"content-type"), b"").lower()
    is_packed, is_stream = requests.is_packed(fields), kind.startswith(SSE)
    to_client = [*requests.to_client(fields), UNBUFFERED] if is_stream else requests.to_client(fields)
    lines = b"".join(b"%s: %s\r\n" % field for field in to_client)
    is_plain = not (is_packed or is_stream or kind.startswith(media.BINARY))
    return Shown(fields, lines, is_stream and not is_packed, is_plain)


class Trip:
    """One request under way. To the door it looks like the task that works for the client."""

    __slots__ = ("_call", "_connection", "_entry", "_events", "_express", "_opened", "_place", "_target", "_wish")

    def __init__(self, express: Express, call: "LaneCall", wish: Wish, place: Place, hold: Hold) -> None:
        parts, endpoint, credential = express.inference, place.endpoint, wish.ask.credential
        self._express, self._call, self._wish, self._place = express, call, wish, place
        call.path = path = call.head.path
        shown_id = call.shown_id.decode()
        self._opened: Open = parts.ledger.open(call.id, credential, "", path, shown_id=shown_id)
        self._entry: Entry = self._opened.__enter__()
        self._events: EventFilter | None = None
        self._entry.cut = call.end
        self._entry.hold = hold
        call.extra_fields += hold.fields
        self._entry.asks_for(wish.asked.model, is_stream=wish.asked.is_stream)
        self._entry.model, self._entry.public_name = place.route.name, None
        place.entry = self._entry
        self._entry.reach(endpoint.instance_id, endpoint.worker)
        self._target = target.parse(endpoint.address)
        connection = parts.pool.take_idle(self._target)
        assert connection is not None, "it was idle a moment ago, and nobody else has run"
        self._connection: Connection = connection
        head = requests.to_engine(call, endpoint, sum(map(len, wish.pieces)))
        connection.begin(b"POST", [head, *wish.pieces], parts.pool.patience)
        connection.listen(self._heard)

    def cancel(self) -> None:
        """The client has left, or somebody ends the request: what that means is said in one place."""
        run = self._hand_over()
        run.cancel()

    def _heard(self) -> None:
        """Something has come from the engine, or the connection has ended."""
        answer = self._connection
        if answer.failure is None and answer.status == 200 and not self._call.door.flow.write_paused:
            shown = self._express.shown(answer)
            if shown.is_plain and answer.is_complete:
                self._pass_whole(shown, answer)
                return
            if shown.is_stream and not answer.is_close_delimited:
                self._begin_stream(shown, answer)
                return
        self._hand_over()

    def _pass_whole(self, shown: Shown, answer: Connection) -> None:
        body = answer.take()
        self._wish.let_go()
        self._place.flight.answer = answer
        entry, call = self._entry, self._call
        entry.usage = tokens.of_answer(body)
        entry.end(200)
        call.status = 200
        call.write_whole(
            b"%s%s%s%sx-request-id: %s\r\ncontent-length: %d\r\n\r\n%s"
            % (STATUS_LINE[200], self._defaults(), shown.lines, self._extra(), call.shown_id, len(body), body)
        )
        self._leave()

    def _defaults(self) -> bytes:
        return self._express.defaults(self._call.door.server_state.default_headers)

    def _extra(self) -> bytes:
        fields = self._call.extra_fields
        return b"".join([b"%s: %s\r\n" % field for field in fields]) if fields else b""

    def _begin_stream(self, shown: Shown, answer: Connection) -> None:
        call = self._call
        self._wish.let_go()
        self._place.flight.answer = answer
        self._events = self._entry.events = EventFilter(hides_usage=self._wish.hides_usage)
        call.last_words = error_event
        call.begin_chunks(
            b"%s%s%s%sx-request-id: %s\r\ntransfer-encoding: chunked\r\n\r\n"
            % (STATUS_LINE[200], self._defaults(), shown.lines, self._extra(), call.shown_id)
        )
        answer.flow(self._pass)
        self._more()

    def _pass(self, data: bytes, now: float) -> bool:
        """Whole chunks of the stream."""
        call, events = self._call, self._events
        if events is None or call.door.flow.write_paused:
            return False
        passed = events.feed(data)
        self._entry.note_content(now)
        if passed:
            call.write_now(passed)
        return True

    def _more(self) -> None:
        """What else has come of it; a client that takes nothing is waited for by a coroutine."""
        answer, events, call = self._connection, self._events, self._call
        assert events is not None
        if not call.door.flow.write_paused and (data := answer.take()):
            passed = events.feed(data)
            self._entry.note_content(self._express.inference.now())
            if passed:
                call.write_now(passed)
        if answer.failure is not None or call.door.flow.write_paused:
            self._hand_over()
        elif answer.is_complete:
            self._end_stream(events)
        else:
            answer.listen(self._more)

    def _end_stream(self, events: EventFilter) -> None:
        last = events.end()
        self._entry.end(502 if events.has_error else 200, "engine_error" if events.has_error else None)
        self._call.end_chunks(last)
        self._leave()

    def _leave(self) -> None:
        """As the `with` statements of the long way are left: connection, place, account."""
        self._express.inference.pool.take_back(self._target, self._connection)
        self._place.give_back()
        self._opened.__exit__(None, None, None)
        self._call.ended()

    def _hand_over(self) -> Run:
        """From here on it is the long way, in a coroutine."""
        self._connection.flow(None)
        trip = Handed(self._opened, self._place, self._connection, self._events)
        return self._call.carry_on(self._express.inference.go_on(self._call, self._wish, trip))
