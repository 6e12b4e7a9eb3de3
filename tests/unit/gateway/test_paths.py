import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import paths


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        pytest.param(b"/", "/", id="root"),
        pytest.param(b"/v1/models/org/tiny:q4", "/v1/models/org/tiny:q4", id="slashes as they are"),
        pytest.param(b"/v1/models/org%2Ftiny%3Aq4", "/v1/models/org/tiny:q4", id="encoded"),
        pytest.param(b"/api/v1/models/org%2ftiny", "/api/v1/models/org/tiny", id="encoded for the server"),
        pytest.param(b"/v1/models/%E6%A8%A1", "/v1/models/模", id="UTF-8"),
        pytest.param(b"/a%20b/..c/d..", "/a b/..c/d..", id="spaces, and dots that are no segment"),
    ],
)
def test_a_path_has_one_meaning(raw: bytes, path: str) -> None:
    assert paths.canonical(raw) == path


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"v1",
        b"*",
        b"http://x/v1",
        b"//x",
        b"/v1//x",
        b"/v1/..",
        b"/v1/./x",
        b"/v1/../api",
        b"/v1/%2e%2E/api",
        b"/v1/%2e/x",
        b"/v1%2fmodels",
        b"/v1/chat%2Fcompletions",
        b"/v1/models/..%2f..%2fapi",
        b"/v1/models/a%2f%2fb",
        b"/v1/models/%2f",
        b"/v1/models/a%5Cb",
        b"/v1/models/a\\b",
        b"/v1/models/a%00",
        b"/v1/models/a%0d%0aX:y",
        b"/v1/models/a%7f",
        b"/v1/models/a%252fb",
        b"/v1/models/a%",
        b"/v1/models/a%zz",
        b"/v1/models/%ff",
        b"/v1/models/%e2%80%ae",
        "/v1/models/\u2028".encode(),
    ],
)
def test_a_path_that_can_be_read_in_two_ways_is_refused(raw: bytes) -> None:
    with pytest.raises(Refusal, match="path_not_canonical"):
        paths.canonical(raw)


@given(st.binary(max_size=40))
def test_what_is_sent_on_means_what_was_judged(raw: bytes) -> None:
    try:
        path = paths.canonical(b"/v1/models/" + raw)
    except Refusal:
        return
    assert path.startswith("/v1/models/")
    assert paths.canonical(paths.encoded(path)) == path
    assert paths.encoded(path).isascii()
    assert not set(path.split("/")) & {".", ".."}


def test_the_old_prefix_is_an_alias() -> None:
    assert paths.without_alias("/v1-openai/models/a") == "/v1/models/a"
    assert paths.without_alias("/v1-openaix") == "/v1-openaix"
