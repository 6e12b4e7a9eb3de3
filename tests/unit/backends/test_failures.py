import pytest

from backends.failures import Failure, first_known
from backends.llama_cpp import LLAMA_CPP
from backends.registry import find

TRUNCATED = """error loading model: tensor 'a' data is not within the file bounds, model is corrupted or incomplete
llama_model_load_from_file_impl: failed to load model
srv          init: exiting due to model loading error
xllamacpp_server: /m.gguf could not be served: Failed to init server, please check the input params."""
HEADER_CUT = """read: string length 20 exceeds remaining file size 18 bytes
gguf_init_from_reader: failed to read key-value pairs
llama_model_load: error loading model: llama_model_loader: failed to load model from trunc2.gguf"""
JUNK = """gguf_init_from_reader: invalid magic characters: '?H??', expected 'GGUF'
llama_model_load: error loading model: llama_model_loader: failed to load model from junk.gguf"""
MISSING = """gguf_init_from_file: failed to open GGUF file 'nofile.gguf' (No such file or directory)
llama_model_load: error loading model: llama_model_loader: failed to load model from nofile.gguf"""
MEMORY = """ggml_aligned_malloc: insufficient memory (attempted to allocate 8797.50 MB)
llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache
common_init_: failed to create context with model 'm.gguf'"""
PORT = "srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 42813"
ARCHITECTURE = (
    "llama_model_load: error loading model: error loading model architecture: unknown model architecture: 'qwen9'"
)
LIBRARY = (
    "error while loading shared libraries: libgomp.so.1: cannot open shared object file: No such file or directory"
)
VERSION = "gguf_init_from_reader: GGUFv1 is no longer supported. please use a more up-to-date version"
ILLEGAL = "Illegal instruction (core dumped)"
OPTION = "xllamacpp_server: an option is not valid: GGML_TYPE_Q3"


@pytest.mark.parametrize(
    ("output", "code"),
    [
        pytest.param(TRUNCATED, "engine_file_truncated", id="truncated file"),
        pytest.param(HEADER_CUT, "engine_file_truncated", id="truncated header"),
        pytest.param(JUNK, "engine_file_invalid", id="no GGUF"),
        pytest.param(MISSING, "engine_file_missing", id="file not there"),
        pytest.param(MEMORY, "engine_out_of_memory", id="no memory for the context"),
        pytest.param(PORT, "engine_port_in_use", id="port in use"),
        pytest.param(ARCHITECTURE, "engine_unknown_architecture", id="unknown architecture"),
        pytest.param(LIBRARY, "engine_library_missing", id="shared library missing"),
        pytest.param(VERSION, "engine_gguf_version", id="old GGUF"),
        pytest.param(ILLEGAL, "engine_illegal_instruction", id="illegal instruction"),
        pytest.param(OPTION, "engine_option_refused", id="option refused"),
    ],
)
def test_what_llama_cpp_prints_becomes_a_sentence(output: str, code: str) -> None:
    sentence = LLAMA_CPP.last_error(output.splitlines())
    assert sentence is not None
    assert sentence.code == code


def test_the_sentence_holds_what_the_pattern_named_and_the_line() -> None:
    sentence = LLAMA_CPP.last_error([ARCHITECTURE])
    assert sentence is not None
    assert sentence.params["architecture"] == "qwen9"
    assert sentence.params["last_line"] == ARCHITECTURE


@pytest.mark.parametrize("name", ["llama_cpp", "echo", "custom"])
def test_ordinary_output_means_nothing(name: str) -> None:
    assert find(name).last_error(["loading model", "", "server is listening"]) is None


def test_a_cause_wins_over_what_follows_from_it() -> None:
    table = (Failure("cause", "disk full"), Failure("consequence", "failed"))
    assert first_known(table, ["disk full", "failed"]) == first_known(table, ["failed", "disk full"])


def test_only_the_end_of_a_long_log_is_looked_at() -> None:
    lines = [PORT, *(["fine"] * 1000)]
    assert LLAMA_CPP.last_error(lines) is None
