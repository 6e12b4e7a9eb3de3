"""Transformers as it is, behind OpenAI's paths: the baseline for comparisons, one request at a time.

Run by path with `python -I transformers_server.py --model DIRECTORY --alias NAME --port P`, in an environment that has
torch and transformers. Code that lies beside a model is never run, and weights are read from safetensors alone.
"""

import itertools
import json
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from small_server import Answer, Failed, Refused, Turn, as_json, library, parser, run

PROG = "transformers_server"
NOT_SERVED = ("logprobs", "top_logprobs", "response_format", "tool_choice", "logit_bias")
MOST_TEXTS = 256
QUANTA_SECONDS = 600


def template_errors():
    """What a template ends with: its own complaints, and what Python says of messages that it did not expect."""
    from jinja2 import TemplateError

    return (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def arguments():
    made = parser(PROG)
    made.add_argument("--task", choices=("generate", "embed"), default="generate")
    made.add_argument("--dtype", choices=("auto", "float32", "bfloat16", "float16"), default="auto")
    made.add_argument("--max-model-len", type=int, default=0)
    made.add_argument("--attn-implementation", choices=("eager", "sdpa"), default="sdpa")
    return made


def load(given):
    torch, transformers = library(lambda: (__import__("torch"), __import__("transformers")))
    torch.set_num_threads(given.threads)
    try:
        if given.task == "embed":
            return {"/v1/embeddings": Embedder(torch, transformers, given).embed}
        writer = Writer(torch, transformers, given)
    except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
        raise Failed(f"{given.model} could not be served: {' '.join(str(error).split())[:500]}") from error
    return {"/v1/chat/completions": writer.chat, "/v1/completions": writer.complete}


def loaded(kind, given):
    settings = {"dtype": given.dtype, "attn_implementation": given.attn_implementation, "use_safetensors": True}
    return kind.from_pretrained(given.model, local_files_only=True, trust_remote_code=False, **settings).eval()


def tokenizer_of(transformers, given):
    return transformers.AutoTokenizer.from_pretrained(given.model, local_files_only=True, trust_remote_code=False)


class Writer:
    """Generates text for one request after the other."""

    def __init__(self, torch, transformers, given):
        self.torch = torch
        self.streamer = transformers.TextIteratorStreamer
        self.criterion = transformers.StoppingCriteria
        self.tokenizer = tokenizer_of(transformers, given)
        self.model = loaded(transformers.AutoModelForCausalLM, given)
        trained = getattr(self.model.config, "max_position_embeddings", None)
        self.longest = given.max_model_len or trained or 2048
        self.alias = given.alias
        self.turn = Turn()
        self.numbers = itertools.count(1)

    def chat(self, asked):
        messages = asked.fields.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refused(400, "messages must be a list with at least one message", param="messages")
        if not self.tokenizer.chat_template:
            raise Refused(400, "this model has no chat template: ask /v1/completions", param="messages")
        tools = asked.fields.get("tools") or None
        plain = [flattened(each) for each in messages]
        try:
            text = self.tokenizer.apply_chat_template(plain, tools=tools, tokenize=False, add_generation_prompt=True)
        except template_errors() as error:
            raise Refused(400, f"the chat template refuses these messages: {error}", param="messages") from error
        return self.answered(asked, self.tokenizer(text, add_special_tokens=False)["input_ids"], Chat())

    def complete(self, asked):
        prompt = asked.fields.get("prompt", "")
        if isinstance(prompt, list) and len(prompt) == 1:
            prompt = prompt[0]
        if not isinstance(prompt, str):
            raise Refused(400, "prompt must be one text", param="prompt")
        return self.answered(asked, self.tokenizer(prompt)["input_ids"], Completion())

    def answered(self, asked, prompt, shape):
        self.check(asked)
        job = Job(self, asked, prompt)
        base = {"id": f"transformers-{next(self.numbers)}", "created": int(time.time()), "model": self.alias}
        if asked.says("stream"):
            return Answer(frames=self.frames(job, shape, base, asked))
        with self.turn:
            text = "".join(job.pieces())
        return as_json({**base, **shape.whole(text, job.finish), "usage": job.usage})

    def check(self, asked):
        for name in NOT_SERVED:
            if asked.fields.get(name) not in (None, False, 0, "auto", "none", {"type": "text"}):
                raise Refused(400, f"{name} is not served by this engine", "unsupported_parameter", name)
        if asked.whole("n", 1, 1, 128) != 1:
            raise Refused(400, "n must be 1", param="n")

    def frames(self, job, shape, base, asked):
        with self.turn:
            pieces = job.pieces()
            try:
                yield from ({**base, **shape.first()} for _ in range(shape.opens))
                for piece in pieces:
                    yield {**base, **shape.piece(piece)}
            finally:
                pieces.close()
        yield {**base, **shape.last(job.finish)}
        if (asked.fields.get("stream_options") or {}).get("include_usage"):
            yield {**base, "object": shape.chunk, "choices": [], "usage": job.usage}
        yield "[DONE]"


class Job:
    """One generation; `finish` and `usage` are known when its pieces are through."""

    def __init__(self, writer, asked, prompt):
        self.writer = writer
        self.asked = asked
        self.prompt = prompt
        room = writer.longest - len(prompt)
        if room < 1:
            said = f"the prompt has {len(prompt)} tokens, and the model takes {writer.longest} with its answer"
            raise Refused(400, said, "context_length_exceeded")
        wanted = asked.whole("max_completion_tokens", None, 1, 10**9) or asked.whole("max_tokens", room, 1, 10**9)
        self.most = min(wanted, room)
        self.settings = sampling(asked)
        self.seed = asked.whole("seed", None, -(2**63), 2**63 - 1)
        stops = asked.fields.get("stop") or []
        self.stops = [stops] if isinstance(stops, str) else [each for each in stops if isinstance(each, str) and each]
        self.ended = threading.Event()
        self.made = 0
        self.error = None
        self.finish = "stop"

    @property
    def usage(self):
        return {
            "prompt_tokens": len(self.prompt),
            "completion_tokens": self.made,
            "total_tokens": len(self.prompt) + self.made,
        }

    def pieces(self):
        """Text as it comes, up to a stop word; the thread that makes it ends with whoever reads."""
        stream = self.writer.streamer(
            self.writer.tokenizer, skip_prompt=True, skip_special_tokens=True, timeout=QUANTA_SECONDS
        )
        thread = threading.Thread(target=self.generate, args=(stream,), daemon=True)
        thread.start()
        try:
            yield from filter(None, self.up_to_a_stop(stream))
        finally:
            self.ended.set()
            thread.join()
        if self.error is not None:
            raise Refused(500, f"the engine could not generate: {self.error}", "engine_failed")

    def up_to_a_stop(self, stream):
        """What may be the beginning of a stop word is held until that is known."""
        held = ""
        for piece in stream:
            held += piece
            found = [at for each in self.stops if (at := held.find(each)) >= 0]
            if found:
                self.finish = "stop"
                self.ended.set()
                yield held[: min(found)]
                return
            safe = len(held) - longest_beginning(held, self.stops)
            yield held[:safe]
            held = held[safe:]
        yield held

    def generate(self, stream):
        torch = self.writer.torch
        try:
            if self.seed is not None:
                torch.manual_seed(self.seed)
            ids = torch.tensor([self.prompt])
            with torch.inference_mode():
                made = self.writer.model.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    max_new_tokens=self.most,
                    streamer=stream,
                    stopping_criteria=[self.criterion()],
                    pad_token_id=self.writer.tokenizer.pad_token_id or self.writer.tokenizer.eos_token_id,
                    **self.settings,
                )
            self.count(made[0][len(self.prompt) :].tolist())
        except (RuntimeError, ValueError, IndexError, MemoryError) as error:
            self.error = error
            stream.end()

    def count(self, tokens):
        ends = self.writer.model.generation_config.eos_token_id
        known = set(ends if isinstance(ends, list) else [ends])
        self.made = len(tokens)
        if len(tokens) >= self.most and not known.intersection(tokens[-1:]) and not self.ended.is_set():
            self.finish = "length"

    def criterion(self):
        job = self

        class Ended(self.writer.criterion):
            def __call__(self, ids, scores, **_):
                done = job.ended.is_set() or job.asked.has_left()
                return job.writer.torch.full((ids.shape[0],), done, dtype=job.writer.torch.bool)

        return Ended()


def sampling(asked):
    """What OpenAI calls them, as Transformers does; temperature 0 is the likeliest token each time."""
    temperature = asked.number("temperature", 1.0, 0.0, 2.0)
    if temperature == 0:
        return {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    top_k = asked.whole("top_k", 0, 0, 10**6)
    top_p = asked.number("top_p", 1.0, 0.001, 1.0)
    return {"do_sample": True, "temperature": temperature, "top_p": top_p, "top_k": top_k}


def longest_beginning(text, stops):
    """How many characters at the end of `text` begin one of the stop words."""
    for size in range(min(len(text), max(map(len, stops), default=1) - 1), 0, -1):
        if any(stop.startswith(text[-size:]) for stop in stops):
            return size
    return 0


def flattened(message):
    """A content of text parts as one text; other parts are none of this engine's."""
    if not isinstance(message, dict):
        raise Refused(400, "each message must be an object", param="messages")
    content = message.get("content")
    if not isinstance(content, list):
        return {**message, "content": content or ""}
    if any(not isinstance(part, dict) or part.get("type") != "text" for part in content):
        raise Refused(400, "only text is served by this engine", param="messages")
    return {**message, "content": "".join(str(part.get("text", "")) for part in content)}


class Chat:
    chunk = "chat.completion.chunk"
    opens = 1

    def choice(self, delta, finish=None):
        return {"object": self.chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    def first(self):
        return self.choice({"role": "assistant", "content": ""})

    def piece(self, text):
        return self.choice({"content": text})

    def last(self, finish):
        return self.choice({}, finish)

    def whole(self, text, finish):
        message = {"role": "assistant", "content": text}
        return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


class Completion:
    chunk = "text_completion"
    opens = 0

    def first(self):
        return self.piece("")

    def piece(self, text):
        return self.whole(text, None)

    def last(self, finish):
        return self.whole("", finish)

    def whole(self, text, finish):
        choice = {"index": 0, "text": text, "finish_reason": finish, "logprobs": None}
        return {"object": self.chunk, "choices": [choice]}


class Embedder:
    """Vectors of texts: pooled as sentence-transformers' own files say (mean where they do not), of length 1."""

    def __init__(self, torch, transformers, given):
        self.torch = torch
        self.tokenizer = tokenizer_of(transformers, given)
        self.model = loaded(transformers.AutoModel, given)
        self.pooling = pooling_of(pathlib.Path(given.model))
        trained = getattr(self.model.config, "max_position_embeddings", None)
        self.longest = given.max_model_len or trained or 512
        self.alias = given.alias
        self.turn = Turn()

    def embed(self, asked):
        given = asked.fields.get("input")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not texts or not all(isinstance(each, str) and each for each in texts):
            raise Refused(400, "input must be a text or a list of texts", param="input")
        if len(texts) > MOST_TEXTS or asked.fields.get("encoding_format", "float") != "float":
            raise Refused(400, f"at most {MOST_TEXTS} texts, answered as float", param="input")
        with self.turn:
            found = [self.vector(each) for each in texts]
        data = [{"object": "embedding", "index": at, "embedding": each} for at, (each, _) in enumerate(found)]
        tokens = sum(count for _, count in found)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return as_json({"object": "list", "model": self.alias, "data": data, "usage": usage})

    def vector(self, text):
        told = self.tokenizer(text, return_tensors="pt")
        count = told["input_ids"].shape[1]
        if count > self.longest:
            said = f"a text has {count} tokens, and the model takes {self.longest}"
            raise Refused(400, said, "context_length_exceeded")
        with self.torch.inference_mode():
            hidden = self.model(**told).last_hidden_state[0].float()
        pooled = {"mean": lambda: hidden.mean(0), "cls": lambda: hidden[0], "last": lambda: hidden[-1]}[self.pooling]()
        return self.torch.nn.functional.normalize(pooled, dim=0).tolist(), count


def pooling_of(folder):
    try:
        said = json.loads((folder / "1_Pooling" / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "mean"
    return "cls" if said.get("pooling_mode_cls_token") else "last" if said.get("pooling_mode_lasttoken") else "mean"


def main(argv):
    return run(PROG, argv, arguments(), load)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
