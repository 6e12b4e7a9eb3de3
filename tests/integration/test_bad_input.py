"""Bad input gets one clear sentence and loses nothing: one table through the API, and the command line beside it."""

import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.gguf import write_tiny_gguf
from tests.harness import Platform, cli

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_tiny_gguf(folder / "tiny.gguf")
    whole = (folder / "tiny.gguf").read_bytes()
    (folder / "truncated.gguf").write_bytes(whole[: len(whole) - 512])
    (folder / "notes.txt").write_text("not a model")
    return folder


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Platform]:
    with Platform(tmp_path_factory.mktemp("platform"), model_roots=[models]) as running:
        running.deploy("taken", source="none:", backend="echo")
        yield running


def tiny(**options: object) -> dict[str, object]:
    return {"name": "a", "source": "{models}/tiny.gguf", "options": options}


MISTAKES = [
    pytest.param(
        {"name": "a", "source": "ftp://host/model"}, 400, "unknown_source", "ftp://host/model", id="unknown source"
    ),
    pytest.param(
        {"name": "a", "source": "{models}/absent.gguf"}, 400, "source_missing", "absent.gguf", id="missing file"
    ),
    pytest.param(
        {"name": "a", "source": "{models}/truncated.gguf"}, 400, "gguf_truncated", "truncated.gguf", id="truncated GGUF"
    ),
    pytest.param({"name": "a", "source": "{models}/notes.txt"}, 400, None, "notes.txt", id="no model"),
    pytest.param(
        {"name": "a", "source": "/etc/passwd"}, 400, "path_outside_roots", "/etc/passwd", id="outside the roots"
    ),
    pytest.param(tiny(bogus=1), 400, None, "bogus", id="an option that the files' engine does not know"),
    pytest.param(tiny(port=1), 400, "option_not_allowed", "port", id="an option that is ours"),
    pytest.param(tiny(threads="many"), 400, "option_invalid", "threads", id="an option that is no number"),
    pytest.param({"name": "taken", "source": "none:", "backend": "echo"}, 409, None, "taken", id="name taken"),
    pytest.param(
        {"name": "a\nb", "source": "none:", "backend": "echo"}, 400, None, "name", id="control character in the name"
    ),
    pytest.param(
        {"name": "a\u202eb", "source": "none:", "backend": "echo"}, 400, None, "name", id="text direction in the name"
    ),
    pytest.param({"name": "", "source": "none:", "backend": "echo"}, 400, None, "name", id="empty name"),
    pytest.param({"name": "x" * 40_000, "source": "none:", "backend": "echo"}, 400, None, "name", id="40 kB name"),
    pytest.param({"name": "a", "source": "x" * 40_000}, 400, None, "source", id="40 kB source"),
    pytest.param(
        {"name": "a", "source": "none:", "backend": "echo", "replicas": -1}, 400, None, "replicas", id="replicas -1"
    ),
    pytest.param(
        {"name": "a", "source": "none:", "backend": "echo", "replicas": "many"},
        400,
        None,
        "replicas",
        id="replicas in words",
    ),
    pytest.param({"name": "a", "source": "none:", "backend": "vlm"}, 400, None, "vlm", id="unknown backend"),
    pytest.param(
        {"name": "a", "source": "none:", "backend": "echo", "replica": 1}, 400, None, "replica", id="unknown field"
    ),
    pytest.param(
        {"name": "a", "source": "none:", "backend": "echo", "options": []},
        400,
        None,
        "options",
        id="options that are no object",
    ),
    pytest.param({"name": "a"}, 400, None, "source", id="no source"),
    pytest.param([], 400, None, None, id="no object"),
]


@pytest.mark.parametrize(("body", "status", "code", "named"), MISTAKES)
def test_a_mistake_is_told_in_one_sentence_that_names_it(
    platform: Platform, models: Path, body: Any, status: int, code: str | None, named: str | None
) -> None:
    if isinstance(body, dict) and "source" in body:
        body = body | {"source": body["source"].replace("{models}", str(models))}
    answer = platform.api.post("/api/v1/models", json=body)
    error = answer.json()["error"]
    assert answer.status_code == status, error
    assert code is None or error["code"] == code
    assert named is None or named in error["message"] or error["param"] == named
    assert_is_one_sentence(error["message"])
    assert [model["name"] for model in platform.api.get("/api/v1/models").json()["items"]] == ["taken"]


def assert_is_one_sentence(message: str) -> None:
    assert "Traceback" not in message
    assert "\n" not in message
    assert 10 < len(message) < 1_000


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b'{"name": "a",}',
        b"\xff\xfe\x00",
        b'{"name": "\xff"}',
        b"",
        b"null",
        b"NaN",
        b'{"name": "a", "name": "b"}' * 2,
        b"[" * 100_000,
    ],
    ids=["open brace", "trailing comma", "UTF-16 mark", "bad UTF-8", "empty", "null", "NaN", "two objects", "deep"],
)
@pytest.mark.parametrize(
    "path", ["/api/v1/models", "/api/v1/keys", "/api/v1/auth/login", "/v1/chat/completions", "/v1/embeddings"]
)
def test_a_body_that_is_no_json_is_a_400_with_openais_shape(platform: Platform, path: str, content: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    if path.startswith("/v1/"):
        headers["Authorization"] = f"Bearer {platform.key()}"
    answer = platform.api.post(path, content=content, headers=headers)
    is_larger_than_a_login = path.endswith("login") and len(content) > 50_000
    assert answer.status_code == (413 if is_larger_than_a_login else 400)
    assert set(answer.json()["error"]) >= {"message", "type", "param", "code"}
    assert_is_one_sentence(answer.json()["error"]["message"])


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/models/nope",
        "/api/v1/instances/99999",
        "/api/v1/workers/nope",
        "/api/v1/nowhere",
        "/v1/models/nope",
        "/v1/nowhere",
    ],
)
def test_what_is_not_there_is_a_404_with_openais_shape(platform: Platform, path: str) -> None:
    headers = {"Authorization": f"Bearer {platform.key()}"} if path.startswith("/v1/") else {}
    answer = platform.api.get(path, headers=headers)
    assert answer.status_code == 404
    assert_is_one_sentence(answer.json()["error"]["message"])


def test_the_sentence_comes_in_the_readers_language(platform: Platform) -> None:
    body = {"name": "a", "source": "ftp://host/model"}
    english = platform.api.post("/api/v1/models", json=body).json()["error"]
    chinese = platform.api.post("/api/v1/models", json=body, headers={"Accept-Language": "zh-CN"}).json()["error"]
    assert english["code"] == chinese["code"]
    assert any("\u4e00" <= character <= "\u9fff" for character in chinese["message"])


def test_a_large_body_names_the_limit(platform: Platform) -> None:
    answer = platform.api.post(
        "/v1/chat/completions", content=b"x" * (33 * 1024**2), headers={"Authorization": f"Bearer {platform.key()}"}
    )
    assert answer.status_code == 413
    assert "32 MiB" in answer.json()["error"]["message"]


# --- the command line ------------------------------------------------------------------------------------------------


def assert_refused(done: "Any", *named: str, code: int = 1) -> None:
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for each in named:
        assert each in done.stderr


def test_a_port_in_use_is_named_with_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = cli("start", "--port", str(port), "--data-dir", str(tmp_path / "data"))
    assert_refused(done, str(port), "--port")


def test_a_data_dir_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert_refused(cli("start", "--port", "0", "--data-dir", str(tmp_path / "file")), str(tmp_path / "file"))


def test_a_second_start_on_the_same_data_dir_is_told_who_has_it(platform: Platform) -> None:
    assert_refused(cli("start", "--port", "0", "--data-dir", str(platform.data_dir)), str(platform.supervisor_pid))


def test_a_wrong_join_token_is_refused_and_the_worker_ends(platform: Platform, tmp_path: Path) -> None:
    done = cli("join", platform.url, "--token", "wrong", "--name", "stranger", "--data-dir", str(tmp_path / "data"))
    assert_refused(done, "token")


def test_a_database_newer_than_the_program_is_left_alone(tmp_path: Path) -> None:
    import sqlite3

    with Platform(tmp_path) as running:
        running.stop()
        database = running.data_dir / "gpustack-lite.db"
        with sqlite3.connect(database) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.close()
        before = database.read_bytes()
        done = cli("start", "--port", "0", "--data-dir", str(running.data_dir))
        assert_refused(done, "9999")
        assert database.read_bytes() == before


def test_a_wrong_password_and_an_unknown_user_get_the_same_answer(platform: Platform) -> None:
    answers = [
        httpx.post(f"{platform.url}/api/v1/auth/login", json={"username": name, "password": "wrong"}, trust_env=False)
        for name in ("admin", "nobody")
    ]
    assert [answer.status_code for answer in answers] == [401, 401]
    assert answers[0].json()["error"]["message"] == answers[1].json()["error"]["message"]


def test_the_initial_password_is_private_and_opens_nothing_but_its_change(platform: Platform) -> None:
    path = platform.data_dir / "initial_admin_password"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    answer = httpx.post(
        f"{platform.url}/api/v1/auth/login",
        json={"username": "admin", "password": path.read_text().strip()},
        trust_env=False,
    )
    assert answer.status_code == 200
    assert answer.json()["must_change_password"] is True
    bearer = {"Authorization": f"Bearer {answer.json()['token']}"}
    for path in ("/api/v1/models", "/v1/models"):
        early = httpx.get(f"{platform.url}{path}", headers=bearer, trust_env=False)
        assert (early.status_code, early.json()["error"]["code"]) == (403, "password_change_required")


@pytest.mark.parametrize(
    "arguments",
    [
        ("models", "deploy"),
        ("models", "scale", "taken", "x"),
        ("nonsense",),
        ("start", "--port", "x"),
        ("start", "--no-such-option"),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2_and_says_what_is_wrong(arguments: tuple[str, ...]) -> None:
    assert_refused(cli(*arguments), code=2)


def test_a_bad_simulate_spec_is_quoted(tmp_path: Path) -> None:
    assert_refused(cli("start", "--port", "0", "--data-dir", str(tmp_path), "--simulate", "8x910B3"), "8x910B3")
