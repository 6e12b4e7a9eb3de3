import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.hub.sources import Source, parse, question, recognise, repository


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
    ("source", "parsed"),
    [
        pytest.param("huggingface:org/name", Source("huggingface", "org/name"), id="hugging face"),
        pytest.param("HuggingFace:org/name", Source("huggingface", "org/name"), id="capitals"),
        pytest.param("huggingface:gpt2", Source("huggingface", "gpt2"), id="without an owner"),
        pytest.param("huggingface:o/n@refs/pr/1", Source("huggingface", "o/n", "refs/pr/1"), id="with a revision"),
        pytest.param("modelscope:org/name", Source("modelscope", "org/name"), id="modelscope"),
        pytest.param("https://host/m.gguf", Source("url", "https://host/m.gguf"), id="https"),
        pytest.param("http://host/m.gguf?download=true", Source("url", "http://host/m.gguf"), id="http"),
    ],
)
def test_what_lies_on_a_hub_is_parsed(source: str, parsed: Source) -> None:
    assert parse(source) == parsed


@pytest.mark.parametrize(
    ("source", "code"),
    [
        pytest.param("huggingface:", "source_repository_invalid", id="no name"),
        pytest.param("huggingface:a/b/c", "source_repository_invalid", id="three parts"),
        pytest.param("huggingface:../etc", "source_repository_invalid", id="upwards"),
        pytest.param("huggingface:a/../b", "source_repository_invalid", id="upwards inside"),
        pytest.param("huggingface:a/b?x=1", "source_repository_invalid", id="a query"),
        pytest.param("modelscope:name", "source_repository_invalid", id="no owner on modelscope"),
        pytest.param("huggingface:o/n@../x", "source_revision_invalid", id="revision upwards"),
        pytest.param("huggingface:o/n@-x", "source_revision_invalid", id="revision like an option"),
        pytest.param("https://host/m.bin", "source_url_invalid", id="no GGUF"),
        pytest.param("https://host/m.gguf?token=secret", "source_url_invalid", id="a query in a URL"),
        pytest.param("https://user:secret@host/m.gguf", "source_url_invalid", id="a password in a URL"),
    ],
)
def test_what_is_no_place_on_a_hub_is_refused(source: str, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse(source)
    assert refused.value.code == code
    if "secret" in source:
        assert "secret" not in str(refused.value)


def test_a_question_holds_all_that_chooses_files_and_is_the_same_for_the_same() -> None:
    asked = question("huggingface:o/n", "v1", ["b*", "a & b/*"])
    assert asked == question("huggingface:o/n", "v1", ["a & b/*", "b*", "b*"])
    assert repository(asked) == Source("huggingface", "o/n", "v1", ("a & b/*", "b*"))
    assert question("/models/m", None, []) == "/models/m"


@pytest.mark.parametrize("source", ["huggingface:org/name", "modelscope:org/name", "/models/m", "none:"])
def test_where_no_files_are_needed_a_repository_is_a_name(source: str) -> None:
    assert parse(source, needs_files=False) == recognise(source)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        pytest.param("http://169.254.169.254/m.gguf", "source_url_without_files", id="URL"),
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
