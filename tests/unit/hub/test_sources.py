import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.hub.sources import Source, parse, recognise


@pytest.mark.parametrize(
    ("source", "parsed"),
    [
        pytest.param("/models/m.gguf", Source("path", "/models/m.gguf"), id="absolute path"),
        pytest.param("/模型/七亿.gguf", Source("path", "/模型/七亿.gguf"), id="path in Chinese"),
        pytest.param("/a b/c:d", Source("path", "/a b/c:d"), id="path with space and colon"),
        pytest.param("file:/models/m", Source("path", "/models/m"), id="file with one slash"),
        pytest.param("file:///models/m", Source("path", "/models/m"), id="file URL"),
        pytest.param("none:", Source("none", ""), id="nothing"),
    ],
)
def test_what_can_be_launched_is_parsed(source: str, parsed: Source) -> None:
    assert parse(source) == parsed


@pytest.mark.parametrize(
    ("source", "kind", "value"),
    [
        pytest.param("huggingface:org/name", "huggingface", "org/name", id="hugging face"),
        pytest.param("HuggingFace:org/name", "huggingface", "org/name", id="capitals"),
        pytest.param("modelscope:org/name", "modelscope", "org/name", id="modelscope"),
        pytest.param("https://host/m.gguf", "url", "https://host/m.gguf", id="https"),
        pytest.param("http://host/m.gguf", "url", "http://host/m.gguf", id="http"),
    ],
)
def test_what_a_later_version_downloads_is_recognised_and_refused(source: str, kind: str, value: str) -> None:
    assert recognise(source) == Source(kind, value)
    with pytest.raises(Refusal) as refused:
        parse(source)
    assert (refused.value.code, refused.value.param) == ("source_not_supported_yet", "source")


@pytest.mark.parametrize("source", ["huggingface:org/name", "modelscope:org/name", "/models/m", "none:"])
def test_where_no_files_are_needed_a_repository_is_a_name(source: str) -> None:
    assert parse(source, needs_files=False) == recognise(source)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        pytest.param("http://169.254.169.254/x", "source_not_supported_yet", id="URL"),
        pytest.param("docker:org/name", "unknown_source", id="another hub"),
    ],
)
def test_where_no_files_are_needed_nothing_else_gets_in(source: str, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse(source, needs_files=False)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("source", "code"),
    [
        pytest.param("m.gguf", "source_not_absolute", id="file name"),
        pytest.param("models/m", "source_not_absolute", id="relative"),
        pytest.param("./m.gguf", "source_not_absolute", id="dot"),
        pytest.param("../m.gguf", "source_not_absolute", id="dots"),
        pytest.param("~/m.gguf", "source_not_absolute", id="home"),
        pytest.param("", "unknown_source", id="empty"),
        pytest.param("qwen", "unknown_source", id="a word"),
        pytest.param("ftp://host/m", "unknown_source", id="another protocol"),
        pytest.param("file://host/m", "unknown_source", id="file on a host"),
        pytest.param("docker:org/name", "unknown_source", id="another hub"),
        pytest.param("/a\0b", "source_unprintable", id="NUL"),
        pytest.param("/a\nb", "source_unprintable", id="line break"),
        pytest.param("/a\u202eb", "source_unprintable", id="text direction"),
        pytest.param("/a\ud800b", "source_unprintable", id="half a character"),
        pytest.param("/" + "x" * 40_000, "source_too_long", id="40 kB"),
    ],
)
def test_anything_else_is_refused_with_its_own_sentence(source: str, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse(source)
    assert refused.value.code == code
