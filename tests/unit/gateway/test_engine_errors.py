import json

import pytest

from gpustack_lite.gateway.engine_errors import normalise


def told(status: int, body: bytes) -> tuple[int, dict[str, object]]:
    answer, document = normalise(status, body, model="m", path="/v1/embeddings", language="en")
    error = document["error"]
    assert isinstance(error, dict)
    return answer, error


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param({"error": {"message": "no", "code": 400, "type": "x"}}, "no", id="OpenAI"),
        pytest.param(
            {"object": "error", "message": "no", "type": "BadRequestError", "code": 400}, "no", id="vLLM before 0.10"
        ),
        pytest.param({"error": "no"}, "no", id="a bare text"),
        pytest.param({"detail": "no"}, "no", id="FastAPI"),
        pytest.param({"detail": [{"loc": ["body"]}]}, '[{"loc":["body"]}]', id="FastAPI's validation"),
        pytest.param("no", "no", id="a JSON text"),
    ],
)
def test_the_engines_words_and_status_are_kept(document: object, message: str) -> None:
    status, error = told(400, json.dumps(document).encode())
    assert (status, error["message"], error["type"]) == (400, message, "invalid_request_error")


def test_plain_text_is_kept_as_it_is() -> None:
    assert told(500, b"Internal Server Error\n")[1]["message"] == "Internal Server Error"
    assert told(500, b"")[1]["message"] == "HTTP 500"


@pytest.mark.parametrize(
    "words",
    [
        {"type": "exceed_context_size_error", "message": "request (9 tokens) exceeds"},
        {"message": "the request exceeds the available context size, try increasing it"},
        {"message": "This model's maximum context length is 16 tokens. However, you requested 20 tokens"},
        {"message": "The prompt (total length 20) is longer than the maximum model length of 16"},
        {"message": "'max_tokens' is too large: max_model_len is 16"},
    ],
    ids=["llama.cpp's type", "llama.cpp", "vLLM", "vLLM's prompt", "vLLM's max_tokens"],
)
def test_a_prompt_that_is_too_long_has_openais_code(words: dict[str, str]) -> None:
    assert told(400, json.dumps({"error": words}).encode())[1]["code"] == "context_length_exceeded"


def test_a_code_that_the_engine_gives_is_kept_unless_it_is_a_number() -> None:
    assert (
        told(400, b'{"error":{"message":"x","code":"unsupported_parameter","param":"n"}}')[1]["code"]
        == "unsupported_parameter"
    )
    assert told(400, b'{"error":{"message":"x","code":"400"}}')[1]["code"] == "engine_error"
    assert told(429, b'{"error":{"message":"x"}}')[1]["type"] == "rate_limit_error"


@pytest.mark.parametrize("status", [404, 405, 501])
def test_what_the_engine_does_not_serve_names_model_and_path(status: int) -> None:
    answer, error = told(status, b'{"detail":"Not Found"}')
    assert (answer, error["code"]) == (404, "path_not_served")
    assert "m does not serve /v1/embeddings" in str(error["message"])


def test_an_engine_that_does_not_know_its_own_model_is_our_fault() -> None:
    answer, error = told(404, b'{"error":{"message":"The model `m` does not exist."}}')
    assert (answer, error["code"]) == (502, "engine_unknown_model")


@pytest.mark.parametrize("status", [401, 403])
def test_a_client_is_not_told_that_its_key_is_bad_when_ours_was(status: int) -> None:
    assert told(status, b'{"error":"Unauthorized"}')[0] == 502
