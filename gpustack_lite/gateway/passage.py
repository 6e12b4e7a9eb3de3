"""An engine's answer on its way to the client: as a stream, as a whole, or as an error in OpenAI's shape."""

from collections.abc import Callable
from dataclasses import dataclass

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import answers, anthropic, engine_errors, media, requests, tokens
from gpustack_lite.gateway.answers import Document
from gpustack_lite.gateway.call import Call
from gpustack_lite.gateway.engine_failures import refusal_of
from gpustack_lite.gateway.ledger import Entry
from gpustack_lite.gateway.rewriting import Rewriter
from gpustack_lite.gateway.sse import EventFilter, error_event
from gpustack_lite.relay.connection import Connection, Patience
from gpustack_lite.relay.failures import UpstreamFailed

ENDS_WITH_DONE = frozenset({"/v1/chat/completions", "/v1/completions"})
TRANSLATED_BYTES = 64 * 1024**2
"""The longest answer that is held to be translated."""
_MESSAGE_STOP = b"message_stop"
_TAIL_BYTES = 256
SSE = b"text/event-stream"
UNBUFFERED = (b"x-accel-buffering", b"no")


@dataclass(frozen=True, slots=True)
class Passage:
    """One answer, from the moment that its head has come."""

    call: Call
    answer: Connection
    entry: Entry
    hides_usage: bool
    patience: Patience
    now: Callable[[], float]
    rewriter: Rewriter | None = None
    path: str = ""
    """What the engine was asked; the call's own where nothing is translated."""

    async def pass_on(self) -> None:
        if self.answer.status >= 300:
            await self._pass_error()
        elif requests.is_packed(self.answer.fields):
            await self._pass_long(bytearray())
        elif _content_type(self.answer).startswith(SSE):
            await self._pass_stream()
        elif _content_type(self.answer).startswith(media.BINARY):
            await self._pass_binary()
        else:
            await self._pass_whole()

    async def _pass_error(self) -> None:
        text = await self._read_error()
        status, document = engine_errors.normalise(
            self.answer.status, text, model=self.entry.model, path=self.call.path, language=self.call.language
        )
        self.entry.end(status, "engine_error")
        if self.rewriter is not None:
            document = self.rewriter.refused(status, document)
        await self.call.answer_error(status, document, *requests.kept_of_error(self.answer.fields))

    async def _read_error(self) -> bytes:
        """As much as is worth reading; when it breaks off, its status says enough."""
        text = bytearray()
        try:
            while len(text) < engine_errors.MOST_TEXT_BYTES and (data := await self.answer.read()):
                text += data
        except UpstreamFailed:
            return bytes(text)
        return bytes(text)

    async def _pass_whole(self) -> None:
        """What is no stream is sent when it is complete, so that a broken answer can still be told as an error."""
        first = bytearray()
        most = TRANSLATED_BYTES if self.rewriter is not None and self.rewriter.needs_whole else tokens.WHOLE_BYTES
        try:
            while len(first) <= most and (data := await self.answer.read()):
                first += data
        except UpstreamFailed as failure:
            raise self._broken(failure) from failure
        if len(first) > most:
            await self._pass_long(first)
            return
        self.entry.usage = tokens.of_answer(first)
        self._note_media(first)
        whole = self._rewritten(bytes(first))
        self.entry.end(self.answer.status)
        await self.call.answer(self.answer.status, whole, requests.to_client(self.answer.fields))

    def _rewritten(self, body: bytes) -> bytes:
        if self.rewriter is None or (b"json" not in _content_type(self.answer) and not self.rewriter.needs_whole):
            return body
        try:
            return self.rewriter.whole(body)
        except Refusal as refusal:
            self.entry.end(refusal.status, refusal.code)
            raise

    async def _pass_long(self, first: bytearray) -> None:
        """Too long to be held: it goes on as it comes, and its usage is looked for at both ends."""
        if self.rewriter is not None and self.rewriter.needs_whole:
            raise self._broken(UpstreamFailed("answer_too_long", has_answered=True))
        fields, length = requests.to_client(self.answer.fields), requests.length_of(self.answer.fields)
        beginning = self._rewritten(bytes(first))
        if length is not None:
            length += len(beginning) - len(first)
        await self.call.start(self.answer.status, fields, length=length)
        await self.call.write(beginning)
        images = media.ImageCount(self.call.path)
        images.feed(first)
        last = bytearray(first[-tokens.END_BYTES :])
        del first[tokens.END_BYTES :]
        try:
            while data := await self.answer.read():
                await self.call.write(data)
                images.feed(data)
                last += data
                del last[: -tokens.END_BYTES]
        except UpstreamFailed as failure:
            self._broken(failure)
            self.call.cut()
            return
        self.entry.usage = tokens.of_ends(first, last)
        self.entry.images = images.images
        self.entry.end(self.answer.status)
        await self.call.finish()

    def _note_media(self, whole: bytearray) -> None:
        seconds = media.said_seconds(self.call.path, whole)
        self.entry.audio_seconds = self.entry.audio_seconds if seconds is None else seconds
        images = media.ImageCount(self.call.path)
        images.feed(whole)
        self.entry.images = images.images

    async def _pass_binary(self) -> None:
        """Sound is played while it comes; until its first piece is here, a broken answer can be told as an error."""
        try:
            first = data = await self.answer.read()
        except UpstreamFailed as failure:
            raise self._broken(failure) from failure
        fields, length = requests.to_client(self.answer.fields), requests.length_of(self.answer.fields)
        self.entry.first_content, passed = self.now(), 0
        await self.call.start(self.answer.status, fields, length=length)
        try:
            while data:
                await self.call.write(data)
                passed += len(data)
                data = await self.answer.read()
        except UpstreamFailed as failure:
            self._broken(failure)
            self.call.cut()
            return
        self.entry.audio_seconds = media.wav_seconds(first[: media.WAV_HEAD_BYTES], passed)
        self.entry.end(self.answer.status)
        await self.call.finish()

    async def _pass_stream(self) -> None:
        events = self.entry.events = EventFilter(hides_usage=self.hides_usage, rewriter=self.rewriter)
        self.call.last_words = self._last_words
        await self.call.start(self.answer.status, [*requests.to_client(self.answer.fields), UNBUFFERED])
        await self.go_on(events)

    async def go_on(self, events: EventFilter) -> None:
        """A stream whose head the client has."""
        try:
            await self._pass_events(events)
        except UpstreamFailed as failure:
            await self._break_off(failure)
            return
        last = events.end() + (b"" if self.rewriter is None else self.rewriter.end())
        is_broken = events.has_error or (self.rewriter is not None and self.rewriter.is_broken)
        self.entry.end(502 if is_broken else self.answer.status, "engine_error" if is_broken else None)
        await self.call.finish(last)

    async def _pass_events(self, events: EventFilter) -> None:
        """Whole chunks go from callback to callback; the rest, and what a slow client holds up, comes by here."""
        tail = b""
        self.answer.flow(None if self.answer.is_close_delimited else self._pass_at_once)
        while data := await self.answer.read():
            passed = events.feed(data)
            self.entry.note_content(self.now())
            if self.answer.is_close_delimited:
                tail = (tail + data)[-_TAIL_BYTES:]
            if passed:
                await self.call.write(passed)
        if self.answer.is_close_delimited and not self._is_whole(events, tail):
            raise UpstreamFailed("closed_early", has_answered=True)  # the end of its process looks the same

    def _pass_at_once(self, data: bytes, now: float) -> bool:
        events = self.entry.events
        if events is None or not self.call.has_room_now:
            return False
        passed = events.feed(data)
        self.entry.note_content(now)
        if passed:
            self.call.write_now(passed)
        return True

    def _is_whole(self, events: EventFilter, tail: bytes) -> bool:
        """Of a stream that ends with its connection; a path that has no mark of an end is believed."""
        path = self.path or self.call.path
        if path == anthropic.MESSAGES:
            return _MESSAGE_STOP in tail
        return events.is_done or path not in ENDS_WITH_DONE

    async def _break_off(self, failure: UpstreamFailed) -> None:
        """Say that it broke and close: no finish reason and no [DONE] that the engine did not send."""
        refusal = self._broken(failure)
        await self.call.write(self._last_words(answers.of_refusal(refusal, self.call.language)))
        self.call.cut()

    def _last_words(self, error: Document) -> bytes:
        return error_event(error) if self.rewriter is None else self.rewriter.failed(error)

    def _broken(self, failure: UpstreamFailed) -> Refusal:
        """Note how it ended; the answer is what to tell the client."""
        refusal = refusal_of(failure, model=self.entry.model, patience=self.patience)
        self.entry.end(refusal.status, failure.cause)
        return refusal


def _content_type(answer: Connection) -> bytes:
    return next((value for name, value in answer.fields if name == b"content-type"), b"").lower()
