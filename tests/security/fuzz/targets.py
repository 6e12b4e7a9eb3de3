"""Every parser of bytes that somebody else made: what it is fed with, and which refusals may come out of it."""

import asyncio
import contextlib
import io
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from uvicorn import Config

from backends import custom, mindie_config, mindie_keys, mindie_rules, options, registry
from backends.base import Option
from gpustack_lite import multipart, settings
from gpustack_lite.api.file_forms import FileForm
from gpustack_lite.api.schemas import bodies as api_bodies
from gpustack_lite.cli import backends as cli_backends
from gpustack_lite.cli import durations, pairs, scenario, simulate
from gpustack_lite.db.queries import paging
from gpustack_lite.db.tables import User
from gpustack_lite.domain import ModelFacts
from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import bodies, engine_errors, media, media_urls, paths, proxies, spending, tokens
from gpustack_lite.gateway import rows as gateway_rows
from gpustack_lite.gateway.anthropic import answering, asking, counting, fields
from gpustack_lite.gateway.anthropic.events import Events
from gpustack_lite.gateway.door import Door, House
from gpustack_lite.gateway.forms import FormReader
from gpustack_lite.gateway.sse import EventFilter
from gpustack_lite.hub import (
    config_facts,
    dialects,
    gguf,
    gguf_facts,
    listing,
    safetensors,
    shelves,
    sources,
    templates,
)
from gpustack_lite.messages import language_of
from gpustack_lite.relay.connection import Connection, Patience
from gpustack_lite.server.batch_lines import Checker
from gpustack_lite.wire import Assignment, Heartbeat, RoutesReply, StatusReport
from tests.fakes.clock import ManualClock
from tests.fakes.transport import FakeTransport
from worker import engines, failures
from worker.devices import amd, ascend, ascend_fields, ascend_table, complaints, declared, links, nvidia, others
from worker.devices import text as device_text
from worker.devices.ascend import Said
from worker.downloads import names

Parse = Callable[[bytes], object]
UNKNOWN = ModelFacts(path="f", size_bytes=1, format="hf")


@dataclass(frozen=True)
class Target:
    """`modules` are those whose parsing it reaches; anything but `refuses` that comes out of `parse` is a fault.

    `steps` is how many lines of ours may run for each byte.
    """

    name: str
    modules: tuple[str, ...]
    parse: Parse
    refuses: tuple[type[BaseException], ...] = (Refusal,)
    words: tuple[bytes, ...] = ()
    """Of its format, to be put in."""
    steps: int = 400


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def json_of(data: bytes) -> Any:
    """What the json module makes of it; None where it refuses, which those who call it turn into a refusal."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def in_file(read: Callable[[Path], object]) -> Parse:
    def parse(data: bytes) -> object:
        with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
            file.write(data)
            file.flush()
            return read(Path(file.name))

    return parse


def a_gguf(data: bytes) -> object:
    return gguf_facts.facts_of([gguf.header_of(io.BytesIO(data), "f", len(data))], "f", len(data))


def a_safetensors(data: bytes) -> object:
    return safetensors.read_tensors(lambda offset, count: data[offset : offset + count], len(data), "f")


class Folder:
    """A model's folder, with the same bytes in every file of it."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def names(self) -> list[str]:
        return ["config.json", "generation_config.json", "model.safetensors", "tokenizer_config.json"]

    def shown(self, name: str = "") -> str:
        return f"/m/{name}"

    def size(self, name: str) -> int:
        return len(self._data)

    def read_at(self, name: str, offset: int, count: int) -> bytes:
        return self._data[offset : offset + count]

    def each(self, read: Callable[[str], Any], names: Any) -> list[Any]:
        return [read(name) for name in names]


def a_config(data: bytes) -> object:
    content = shelves.read_document(Folder(data), "config.json")
    facts = config_facts.facts_of_config(content, "f")
    return facts, shelves.facts_of_folder(Folder(data), "/m", reads_headers=False)


def a_template(data: bytes) -> object:
    said = text_of(data)
    found = templates.texts_of({"tokenizer_config.json": said})
    return templates.read(found), templates.with_template(UNKNOWN, {templates.TEMPLATE_FILES[0]: said})


def a_listing(data: bytes) -> object:
    document = json_of(data)
    for hub, dialect in dialects.DIALECTS.items():
        files = tuple(each for each in dialect.files_of(document) if dialects.is_safe(each.path))
        found = listing.Listing(dialect.commit_of(document, "main"), files)
        for file in files[:20]:
            _allowed(lambda file=file, hub=hub: names.expected_of(file, hub))
            _allowed(lambda file=file: names.safe_path(file.path))
        _allowed(lambda found=found: listing.wanted(found))
    return dialects.next_page(text_of(data))


def _allowed(act: Callable[[], object]) -> None:
    try:
        act()
    except Refusal:
        return


def a_source(data: bytes) -> object:
    said = text_of(data)
    for read in (sources.recognise, sources.repository, sources.is_remote, names.safe_path, names.commit_of):
        _allowed(lambda read=read: read(said))
    return sources.parse(said)


def npu_smi(data: bytes) -> object:
    said = text_of(data)
    for read in (
        *(ascend_fields.parse_counts, ascend_fields.parse_board, ascend_fields.parse_health),
        *(ascend_fields.parse_processes, ascend_fields.parse_versions, links.cpu_set, device_text.document),
    ):
        read(said)
    links.parse(said).groups()
    return ascend.devices("w", Said(ascend_table.parse(said), ascend_fields.parse_mapping(said)))


def nvidia_smi(data: bytes) -> object:
    said = text_of(data)
    for read in (nvidia.parse_processes, nvidia.parse_slice_memory, nvidia.cuda_version, nvidia.unknown_field):
        read(said)
    return nvidia.devices("w", nvidia.Said(nvidia.parse_rows(said), nvidia.parse_list(said)))


def other_smis(data: bytes) -> object:
    said = text_of(data)
    complaints.complaint("npu-smi info", said, "exit")
    amd.from_amd_smi("w", said, said, said)
    for read in (
        *(amd.from_rocm_smi, others.from_cnmon, others.from_mx_smi, others.from_mthreads_gmi),
        *(others.from_ixsmi, others.from_system_profiler),
    ):
        read("w", said)
    return complaints.excerpt(said)


def a_stream(data: bytes) -> object:
    """In three pieces, as it may arrive; nothing of it may be lost where nothing is taken out."""
    cuts = sorted({len(data) // 3, len(data) // 2, len(data)})
    pieces = [data[a:b] for a, b in zip([0, *cuts], cuts, strict=False)]
    whole = EventFilter(hides_usage=False)
    passed = b"".join(whole.feed(piece) for piece in pieces if piece) + whole.end()
    assert passed == data, "a stream that nobody asked to change was changed"
    hiding, events = (
        EventFilter(hides_usage=True),
        Events("m", ("stop",), lambda refusal: {"error": {"message": refusal.code}}),
    )
    for piece in pieces:
        if piece:
            hiding.feed(piece)
            events.feed(piece)
    return hiding.end(), events.end()


def a_form(data: bytes) -> object:
    kind = b"multipart/form-data; boundary=b"
    for reader in (FormReader(kind, "/v1/audio/transcriptions"), FileForm(kind)):
        try:
            for start in range(0, len(data), 700):
                reader.feed(data[start : start + 700])
            reader.end()
        except Refusal:
            continue
    return multipart.boundary_of(data[:200])


def a_body(data: bytes) -> object:
    _allowed(lambda: media_urls.check(data, frozenset()))
    asked = bodies.read(data)
    changed = bodies.with_model(bodies.with_usage_asked(data, asked), "another")
    return bodies.read(b"".join(bytes(piece) for piece in changed))


def an_answer(data: bytes) -> object:
    tokens.of_ends(data[:1000], data[-1000:])
    media.wav_seconds(data, len(data))
    media.said_seconds("/v1/audio/transcriptions", data)
    counting.count_of(data), counting.prompt_of(data), counting.length_of(data)
    for status in (200, 400, 404, 500):
        engine_errors.normalise(status, data, model="m", path="/v1/x", language="en")
    found = tokens.of_answer(data)
    completion = json_of(data)
    if isinstance(completion, dict):
        answering.message(completion, "m", ("stop",))
    return found


def a_messages_body(data: bytes) -> object:
    return asking.chat_request(fields.document(data))


class Hall:
    """One connection to the gateway's own HTTP parser, and an application that only reads."""

    def __init__(self) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        config = Config(app, loop="none", ws="none", lifespan="off", interface="asgi3", log_config=None)
        config.load()
        self.transport = FakeTransport()
        self.door = Door(config, House(ManualClock().monotonic, stall_seconds=60))
        self.door.connection_made(self.transport)


def a_request(data: bytes) -> object:
    """Whatever comes, the connection answers, waits or closes; what is raised here would end the gateway's loop."""

    async def hear() -> bytes:
        hall = Hall()
        for start in range(0, len(data), 97):
            if hall.transport.is_closing():
                break
            hall.door.data_received(data[start : start + 97])
            await asyncio.sleep(0)
        hall.door.connection_lost(None)
        await asyncio.sleep(0)
        return hall.transport.written

    written = asyncio.run(hear())
    assert not written or written.startswith(b"HTTP/1.1 "), written[:80]
    return written


def a_response(data: bytes) -> object:
    """Of an engine, to the relay."""

    async def hear() -> None:
        connection = Connection(ManualClock().monotonic)
        connection.connection_made(FakeTransport())
        connection.begin(b"POST", [b"request"], Patience(1, 10, 5))
        for start in range(0, len(data), 97):
            connection.data_received(data[start : start + 97])
        connection.connection_lost(None)

    asyncio.run(hear())
    return None


def a_path(data: bytes) -> object:
    path = paths.canonical(b"/" + data)
    assert ".." not in path.split("/")
    assert paths.canonical(paths.encoded(path)) == path, "a path that is sent on means something else"
    return path


def some_hops(data: bytes) -> object:
    ours = proxies.parsed(["10.0.0.0/8", "::1"])
    fields_of = [(b"x-forwarded-for", data), (b"x-forwarded-proto", data[:20])]
    return ours.look_behind("10.0.0.1", fields_of, is_tls=False), language_of(text_of(data))


def a_declaration(data: bytes) -> object:
    with contextlib.suppress(Refusal, OSError):  # a name too long for any file system is not ours to judge
        declared.declaration(text_of(data).replace("\0", ""))
    return in_file(declared.parse_file)(data)


def a_scenario(path: Path) -> object:
    return scenario.workload(path, scenario.cluster(path))


def a_custom_backend(path: Path) -> object:
    return custom.from_spec(cli_backends.read(path))


def an_option(data: bytes) -> object:
    said = text_of(data)
    for kind in ("int", "float", "bool", "str", "json"):
        _allowed(lambda kind=kind: options.value_of(Option("o", kind, ""), said))
    _allowed(lambda: options.check_env({said: said}))
    _allowed(lambda: mindie_rules.plugins_of({"plugin_params": said}))
    pairs.options_of([f"a={said}"])
    _allowed(lambda: durations.seconds(said))
    known = registry.registry().backends
    for name in ("vllm", "vllm_ascend", "mindie", "llama_cpp", "sglang"):
        for option in ("additional-config", "hf-overrides", "rope-scaling", "models", "lora-modules"):
            _allowed(lambda name=name, option=option: known[name].check({option: said}, {}))
    return mindie_keys.asked({"models": said})


def a_mindie_config(data: bytes) -> object:
    document = mindie_config.read(text_of(data))
    mindie_rules.check(document, is_310p=True)
    return document


def some_lines(data: bytes) -> object:
    checker = Checker("/v1/chat/completions", 1000)
    for line in data.split(b"\n"):
        checker.take(line)
    checker.end()
    return checker.errors


def some_rows(data: bytes) -> object:
    """Of a gateway that died while it wrote them."""
    gateway_rows.decode(data)
    return spending.of_rows(data.split(b"\n"))


def a_log(data: bytes) -> object:
    said = text_of(data)
    lines = said.splitlines()
    engines.progress_of(said), engines.last_words(said), engines.kinds_listed(said)
    failures.is_port_taken(lines), failures.last_line(lines), failures.hung(1.0, lines)
    for backend in registry.registry().backends.values():
        backend.last_error(lines)
        failures.ended(1, lines, backend)
    return None


def a_cursor(data: bytes) -> object:
    return paging._decode(text_of(data), User.created_at, User.id), paging._decode(text_of(data), User.id, User.id)


def a_message_of_machines(data: bytes) -> object:
    for kind in (Heartbeat, StatusReport, RoutesReply, Assignment):
        try:
            kind.model_validate_json(data)
        except ValidationError:
            continue
    return api_bodies.ModelCreate.model_validate_json(data)


JSON_WORDS = (b'{"a":' * 700, b"[" * 1500, b"NaN", b"1e999", b"9" * 400, b'"\\ud800"', b"null", b"-1", b'"', b"\\u0000")
YAML_WORDS = (*JSON_WORDS, b"2024-99-99", b"&a [*a]", b"!!python/object:os.system x", b"? [a]\n", b"0o9", b"<<: 3\n")
HTTP_WORDS = (
    *(b"\r\n", b"\n", b"\r", b"\0", b": ", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"),
    *(b"Content-Length: -1\r\n", b"ffffffffffffffff\r\n", b"0\r\n\r\n", b"HTTP/1.1 100 C\r\n\r\n", b"a" * 5000),
)
CELLS = (b"NA", b"[N/A]", b"1 / 2", b"9" * 400, b"1e999", b"| ", b"+---+", b"\xe2\x88\x9e", b"MIG 1g.5gb", b" " * 500)

TARGETS = (
    Target("gguf", ("hub.gguf", "hub.gguf_facts"), a_gguf, words=(b"\xff" * 8, b"\0" * 8, b"GGUF")),
    Target("safetensors", ("hub.safetensors",), a_safetensors, words=(b"\xff" * 8, *JSON_WORDS)),
    Target("config", ("hub.shelves", "hub.config_facts"), a_config, words=JSON_WORDS, steps=2000),
    Target("template", ("hub.templates",), a_template, words=JSON_WORDS),
    Target("hub_listing", ("hub.dialects", "hub.repository"), a_listing, words=JSON_WORDS, steps=2000),
    Target("source", ("hub.sources", "worker.downloads.names"), a_source, words=(b"hf:", b"#", b"?", b"..", b"//[")),
    Target("npu_smi", ("worker.devices.text", "worker.devices.ascend"), npu_smi, words=CELLS, steps=1500),
    Target("nvidia_smi", ("worker.devices.nvidia",), nvidia_smi, words=CELLS),
    Target("other_smis", ("worker.devices.amd",), other_smis, words=(*CELLS, *JSON_WORDS), steps=1500),
    Target(
        "sse", ("gateway.sse", "gateway.tokens", "gateway.anthropic.events"), a_stream, words=(*JSON_WORDS, b"\n\n")
    ),
    Target("multipart", ("multipart",), a_form, words=(*HTTP_WORDS, b"--b\r\n", b"\r\n--b--")),
    Target(
        "body", ("gateway.bodies", "gateway.media_urls"), a_body, words=(*JSON_WORDS, b'"model":', b'"stream":true,')
    ),
    Target(
        "answer",
        ("gateway.media", "gateway.engine_errors", "gateway.anthropic.answering", "gateway.anthropic.counting"),
        an_answer,
        words=JSON_WORDS,
    ),
    Target("messages", ("gateway.anthropic.fields",), a_messages_body, words=JSON_WORDS),
    Target("http_request", ("gateway.door",), a_request, words=HTTP_WORDS, steps=2000),
    Target("http_response", ("relay.connection",), a_response, words=HTTP_WORDS),
    Target("path", ("gateway.paths",), a_path, words=(b"%2e", b"%2F", b"..", b"%00", b"%ff", b"//", b"\\")),
    Target(
        "forwarded", ("gateway.proxies",), some_hops, words=(b"::ffff:10.0.0.1", b"[", b"]:1", b"1.2.3.4:99999", b",")
    ),
    Target("settings", ("settings",), in_file(settings.load), words=YAML_WORDS, steps=3000),
    Target("declared", ("worker.devices.declared",), a_declaration, words=YAML_WORDS),
    Target("scenario", ("cli.scenario",), in_file(a_scenario), words=YAML_WORDS, steps=3000),
    Target("custom_backend", ("cli.backends", "yaml_text"), in_file(a_custom_backend), words=YAML_WORDS),
    Target("replay", ("cli.simulate",), in_file(simulate.replayed), words=JSON_WORDS, steps=3000),
    Target(
        "option",
        ("backends.options", "cli.pairs", "backends.mindie_keys", "backends.vllm_adapters", "backends.vllm_inner"),
        an_option,
        words=JSON_WORDS,
        steps=8000,
    ),
    Target("mindie_config", ("backends.mindie_config", "backends.mindie_rules"), a_mindie_config, words=JSON_WORDS),
    Target("batch_lines", ("server.batch_lines",), some_lines, words=JSON_WORDS),
    Target("usage_rows", ("gateway.rows", "gateway.spending"), some_rows, words=JSON_WORDS),
    Target("engine_log", ("worker.engines",), a_log, words=(*CELLS, b"Downloading x (", b"GiB)\n"), steps=4000),
    Target("cursor", ("db.queries.paging",), a_cursor, words=(b"WyJ", b"==", b"_-")),
    Target(
        "machine_message",
        ("worker.link", "gateway.control", "worker.desired"),
        a_message_of_machines,
        refuses=(ValidationError, Refusal),
        words=JSON_WORDS,
        steps=2000,
    ),
)
