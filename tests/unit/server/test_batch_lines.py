import json
from typing import Any

import pytest

from gpustack_lite.server import batch_lines
from gpustack_lite.server.batch_lines import Checker, Line

URL = "/v1/chat/completions"


def line(custom_id: object = "a", **changes: object) -> bytes:
    body: dict[str, object] = {"model": "m"}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": URL, "body": body, **changes}).encode() + b"\n"


def checked(*lines: bytes, most_line_bytes: int = 10_000) -> Checker:
    checker = Checker(URL, most_line_bytes)
    for each in lines:
        checker.take(each)
    checker.end()
    return checker


def test_each_line_is_found_again_by_its_place() -> None:
    lines = [line("a"), b"\n", line("ü")[:-1]]
    checker = checked(*lines)
    assert checker.errors == []
    assert checker.lines == [Line("a", 0, len(lines[0])), Line("ü", len(lines[0]) + 1, len(lines[2]))]


@pytest.mark.parametrize(
    ("text", "code", "param"),
    [
        pytest.param(b"no json\n", "invalid_json_line", None, id="no JSON"),
        pytest.param(b"[]\n", "invalid_json_line", None, id="a list"),
        pytest.param(b'{"custom_id":"\xff"}\n', "invalid_json_line", None, id="no UTF-8"),
        pytest.param(b'{"custom_id":"b"}\n', "invalid_json_line", None, id="fields missing"),
        pytest.param(line("b", body=[]), "invalid_json_line", None, id="a body that is no object"),
        pytest.param(line(5), "invalid_json_line", None, id="an id that is no text"),
        pytest.param(line(""), "invalid_custom_id", "custom_id", id="an empty id"),
        pytest.param(line("x" * 513), "invalid_custom_id", "custom_id", id="a long id"),
        pytest.param(line("a"), "duplicate_custom_id", "custom_id", id="an id twice"),
        pytest.param(line("b", method="GET"), "invalid_method", "method", id="a method"),
        pytest.param(line("b", url="/v1/embeddings"), "invalid_url", "url", id="another endpoint"),
        pytest.param(line("b", body={"stream": True}), "stream_not_supported", "body.stream", id="a stream"),
        pytest.param(line("b", body={"x": "y" * 10_000}), "line_too_long", None, id="too long"),
    ],
)
def test_a_line_that_cannot_be_sent_is_named_with_its_number(text: bytes, code: str, param: str | None) -> None:
    (error,) = checked(line("a"), text).errors
    assert (error["code"], error["param"], error["line"]) == (code, param, 2)


def test_a_file_without_lines_and_one_with_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [each["code"] for each in checked(b"\n", b" \n").errors] == ["empty_file"]
    monkeypatch.setattr(batch_lines, "MOST_LINES", 1)
    assert [each["code"] for each in checked(line("a"), line("b")).errors] == ["too_many_requests"]


def test_a_body_is_sent_as_it_was_written() -> None:
    assert (
        batch_lines.body_of(b'{"custom_id":"a","method":"POST","url":"u","body":{ "x" : 1.0e3 }}') == b'{ "x" : 1.0e3 }'
    )


@pytest.mark.parametrize(
    ("status", "retry_after", "tries", "seconds"),
    [
        (200, None, 0, None),
        (400, None, 0, None),
        (500, "5", 0, None),
        (502, "5", 0, 1.0),
        (502, None, 5, 32.0),
        (502, None, 6, None),
        (429, "7", 0, 7.0),
        (503, "100000", 0, 60.0),
        (503, "0", 0, 0.5),
        (429, None, 0, 1.0),
        (429, "soon", 3, 8.0),
        (401, None, 99, 60.0),
    ],
)
def test_what_is_busy_is_waited_out_and_what_is_broken_for_a_minute(
    status: int, retry_after: str | None, tries: int, seconds: float | None
) -> None:
    assert batch_lines.seconds_to_wait(status, retry_after, tries) == seconds


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b'{\n "x": 1.50,\n "y": "a\\nb"\n}', '{"x":1.50,"y":"a\\nb"}'),
        (b"no json\n", '"no json\\n"'),
        (b"\xff", '"\ufffd"'),
        (b"", '""'),
    ],
)
def test_an_answer_becomes_one_line_whatever_it_is(answer: bytes, body: str) -> None:
    written = batch_lines.result("batch_1", "a", 200, "r1", answer)
    assert written.count(b"\n") == 1
    assert f'"body":{body}}}'.encode() in written
    assert batch_lines.custom_id_of(written) == "a"
    document: dict[str, Any] = json.loads(written)
    assert (document["custom_id"], document["response"]["status_code"], document["error"]) == ("a", 200, None)
    assert document["id"].startswith("batch_req_")


def test_a_line_that_was_cut_short_is_no_result() -> None:
    written = batch_lines.failure("batch_1", "a", "batch_expired", "too late")
    assert batch_lines.custom_id_of(written) == "a"
    assert batch_lines.custom_id_of(written[:-1]) is None
    assert batch_lines.custom_id_of(b"{}\n") is None
