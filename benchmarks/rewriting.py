"""What a public name and a spelling of reasoning cost per event of a stream, beside passing and parsing it."""

import argparse
import json
import statistics
import time
from collections.abc import Callable

from gpustack_lite.gateway.answers import of_refusal
from gpustack_lite.gateway.anthropic.rewriters import Translated
from gpustack_lite.gateway.rewriting import Rewriter
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.gateway.splicing import Splice, respelling, splice_for
from gpustack_lite.gateway.sse import EventFilter
from gpustack_lite.wire import Endpoint, ModelRoute, NamedRoute, RoutesReply, RouteTarget

_DELTA = b'"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]'
_THOUGHT = b'"choices":[{"index":0,"delta":{"reasoning":" word"},"logprobs":null,"finish_reason":null}]'
_HEAD = b'"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1730000000,'
IN_FRONT = b"data: {" + _HEAD + b'"model":"qwen",' + _DELTA + b"}\n\n"
BEHIND = b"data: {" + _DELTA + b"," + _HEAD + b'"model":"qwen","system_fingerprint":"b1-abc"}\n\n'
BETWEEN = (
    b"data: {" + _DELTA + b',"model":"qwen",' + _HEAD + b'"usage":{"prompt_tokens_details":{"cached_tokens":0}}}\n\n'
)
THINKING = b"data: {" + _HEAD + b'"model":"qwen",' + _THOUGHT + b"}\n\n"

PLAIN, NAMED = (lambda: None), (lambda: Splice("gpt-4o", None))
SPELT = lambda: Splice(None, respelling("reasoning", "reasoning_content"))  # noqa: E731
BOTH = lambda: Splice("gpt-4o", respelling("reasoning", "both"))  # noqa: E731
MESSAGE = lambda: Translated("gpt-4o", (), lambda refusal: of_refusal(refusal, "en"))  # noqa: E731
STREAMS: dict[str, tuple[bytes, Callable[[], Rewriter | None]]] = {
    "passed as it came": (IN_FRONT, PLAIN),
    "name in front of the choices (vLLM)": (IN_FRONT, NAMED),
    "name behind the choices (llama.cpp)": (BEHIND, NAMED),
    "name between nested values (walked)": (BETWEEN, NAMED),
    "reasoning: looked for, not there": (IN_FRONT, SPELT),
    "reasoning: renamed": (THINKING, SPELT),
    "name, and reasoning doubled": (THINKING, BOTH),
    "a chunk told as Anthropic's event": (IN_FRONT, MESSAGE),
}


def through(event: bytes, splice: Rewriter | None, count: int) -> float:
    """Seconds for one stream of `count` events, one in each packet."""
    events = EventFilter(hides_usage=False, rewriter=splice)
    start = time.process_time()
    for _ in range(count):
        events.feed(event)
    return time.process_time() - start


def parsed(event: bytes, count: int) -> float:
    """What a gateway does that reads every event and writes it anew."""
    start = time.process_time()
    for _ in range(count):
        document = json.loads(event[6:])
        document["model"] = "gpt-4o"
        b"data: " + json.dumps(document).encode() + b"\n\n"
    return time.process_time() - start


def table() -> RouteTable:
    def model(name: str) -> ModelRoute:
        endpoint = Endpoint(instance_id=1, address="127.0.0.1:1", engine_key="k", served_name=name)
        able = {"spelling": "reasoning_content"}
        return ModelRoute(id=1, name=name, created=1, state="ready", endpoints=(endpoint,), abilities=able)

    targets = tuple(RouteTarget(model=name, weight=weight) for name, weight in (("a", 5), ("b", 3), ("c", 1)))
    named = (
        NamedRoute(name="alias", created=1, targets=targets[:1]),
        NamedRoute(name="weighted", created=1, targets=targets),
    )
    made = RouteTable()
    models = tuple(map(model, "abc"))
    made.accept(RoutesReply(epoch=1, models_revision=1, models=models, routes=named, credentials_revision=1))
    return made


def repeated(act: Callable[[], object], count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        act()
    return time.process_time() - start


def measure(rounds: int, count: int) -> dict[str, list[float]]:
    """Microseconds each, interleaved, so that a busy machine is busy for all of them."""
    routes = table()
    (route,) = routes.resolve("a")
    endpoint, chat = route.endpoints[0], "/v1/chat/completions"
    acts: dict[str, Callable[[], float]] = {
        name: (lambda event=event, make=make: through(event, make(), count)) for name, (event, make) in STREAMS.items()
    }
    acts["json.loads and json.dumps"] = lambda: parsed(IN_FRONT, count)
    acts["per request: resolve a model"] = lambda: repeated(lambda: routes.resolve("a"), count)
    acts["per request: resolve an alias"] = lambda: repeated(lambda: routes.resolve("alias"), count)
    acts["per request: resolve 3 weights"] = lambda: repeated(lambda: routes.resolve("weighted"), count)
    acts["per request: is a rewriter needed"] = lambda: repeated(
        lambda: splice_for("a", endpoint, route, chat, "reasoning_content"), count
    )
    taken: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, act in acts.items():
            taken.setdefault(name, []).append(act() / count * 1e6)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--count", type=int, default=5000)
    taken = measure(**vars(parser.parse_args()))
    print(f"{'CPU time':38} {'median us':>10} {'least us':>10}")
    for name, times in taken.items():
        print(f"{name:38} {statistics.median(times):10.2f} {min(times):10.2f}")


if __name__ == "__main__":
    main()
