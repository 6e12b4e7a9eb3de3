"""A scripted engine that answers each path in the shape that OpenAI publishes for it."""

import base64
import json
import struct
from typing import Any

from tests.fakes.scripted_engine import DONE, SSE_HEAD, Request, Talk, frame, usage_of

ARGUMENTS = ['{"city":', '"Köln"}']
VECTOR = [0.5, -0.25, 0.125]
AUDIO = bytes(range(256)) * 8
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
OUTPUT = {**MESSAGE, "content": [{"type": "output_text", "text": "Hello 你好", "annotations": []}]}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "tiny",
    "output": [OUTPUT],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        "input_tokens": 9,
        "output_tokens": 4,
        "total_tokens": 13,
        "input_tokens_details": {"cached_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 1},
    },
}
CATEGORIES = {"violence": True}


def completion(message: dict[str, Any], finish: str) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "tiny"}
    return {**head, "choices": [choice], "usage": usage_of(7, 3)}


def chunk(**delta: object) -> bytes:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}
    return b"data: " + json.dumps({**head, "choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


async def chat(request: Request, talk: Talk) -> None:
    """Calls the tool when there is one, answers in JSON when a schema is given, else greets."""
    body = request.json
    if body.get("stream"):
        calls = [
            chunk(
                tool_calls=[
                    {"index": 0, "id": "t0", "type": "function", "function": {"name": "weather", "arguments": ""}}
                ]
            ),
            *(chunk(tool_calls=[{"index": 0, "function": {"arguments": part}}]) for part in ARGUMENTS),
            frame(finish="tool_calls"),
        ]
        words = [frame("Hello "), frame("你好"), frame(finish="stop")]
        wants_usage = (body.get("stream_options") or {}).get("include_usage")
        await stream(
            talk, *(calls if "tools" in body else words), *([frame(usage=usage_of(7, 3))] if wants_usage else [])
        )
    elif "response_format" in body:
        await talk.answer_json(completion({"content": '{"city":"Köln","degrees":21}'}, "stop"))
    elif "tools" in body:
        call = {"id": "t0", "type": "function", "function": {"name": "weather", "arguments": "".join(ARGUMENTS)}}
        await talk.answer_json(completion({"content": None, "tool_calls": [call]}, "tool_calls"))
    else:
        await talk.answer_json(completion({"content": "Hello 你好"}, "stop"))


async def stream(talk: Talk, *events: bytes) -> None:
    await talk.send(SSE_HEAD)
    await talk.events(*events, DONE)
    await talk.send(b"0\r\n\r\n")


async def respond(request: Request, talk: Talk) -> None:
    if not request.json.get("stream"):
        await talk.answer_json(RESPONSE)
        return
    deltas = [
        {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": word}
        for word in ("Hello ", "你好")
    ]
    created = {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "usage": None}}
    events = [created, *deltas, {"type": "response.completed", "response": RESPONSE}]
    await talk.send(SSE_HEAD)
    for number, each in enumerate(events):
        data = json.dumps({**each, "sequence_number": number, "logprobs": []}).encode()
        await talk.events(b"event: " + str(each["type"]).encode() + b"\ndata: " + data + b"\n\n")
    await talk.send(b"0\r\n\r\n")


async def embed(request: Request, talk: Talk) -> None:
    packed = base64.b64encode(struct.pack("<3f", *VECTOR)).decode()
    vector: object = packed if request.json.get("encoding_format") == "base64" else VECTOR
    data = [{"object": "embedding", "index": 0, "embedding": vector}]
    counts = {"prompt_tokens": 4, "total_tokens": 4}
    await talk.answer_json({"object": "list", "model": "tiny", "data": data, "usage": counts})


async def engine(request: Request, talk: Talk) -> None:
    match request.path:
        case "/v1/chat/completions":
            await chat(request, talk)
        case "/v1/responses":
            await respond(request, talk)
        case "/v1/embeddings":
            await embed(request, talk)
        case "/v1/moderations":
            result = {"flagged": True, "categories": CATEGORIES, "category_scores": {"violence": 0.9}}
            await talk.answer_json({"id": "m", "model": "tiny", "results": [result]})
        case "/v1/images/generations":
            await talk.answer_json({"created": 1, "data": [{"b64_json": base64.b64encode(AUDIO).decode()}]})
        case "/v1/audio/speech":
            await talk.answer(200, AUDIO, content_type=b"audio/mpeg")
        case "/v1/rerank":
            results = [{"index": 0, "relevance_score": 0.9}, {"index": 1, "relevance_score": 0.1}]
            await talk.answer_json({"id": "r", "model": "tiny", "results": results, "usage": {"total_tokens": 8}})
        case _:
            await talk.answer_json({"detail": "Not Found"}, 404)
