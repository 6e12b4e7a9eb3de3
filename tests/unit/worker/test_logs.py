"""Engine logs: rotation, the last lines, and following."""

import asyncio
from pathlib import Path

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.ports import SystemClock
from worker.logs import Logs, tail


def logs(path: Path, file_bytes: int = 100, files_kept: int = 2, attempts_kept: int = 2) -> Logs:
    return Logs(path, file_bytes=file_bytes, files_kept=files_kept, attempts_kept=attempts_kept)


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(content)


@pytest.mark.parametrize(
    ("content", "count", "expected"),
    [
        pytest.param(b"a\nb\nc\n", 2, b"b\nc\n", id="whole lines"),
        pytest.param(b"a\nb\nc", 2, b"b\nc", id="an unfinished last line counts"),
        pytest.param(b"a\n", 5, b"a\n", id="fewer than wanted"),
        pytest.param(b"", 5, b"", id="empty"),
        pytest.param(b"a\nb\n", 0, b"", id="none wanted"),
        pytest.param(b"\n\n\n", 2, b"\n\n", id="empty lines count"),
        pytest.param(b"x" * 200_000 + b"\nend\n", 1, b"end\n", id="a long line before"),
        pytest.param(b"x" * 200_000 + b"\nend\n", 2, b"x" * 200_000 + b"\nend\n", id="a long line within"),
    ],
)
def test_the_last_lines(tmp_path: Path, content: bytes, count: int, expected: bytes) -> None:
    write(tmp_path / "1.log", content)
    assert tail([tmp_path / "1.log"], count) == expected


def test_the_last_lines_reach_into_rotated_files(tmp_path: Path) -> None:
    write(tmp_path / "1.log", b"d\n")
    write(tmp_path / "1.log.1", b"b\nc\n")
    write(tmp_path / "1.log.2", b"a\n")
    parts = [tmp_path / "1.log", tmp_path / "1.log.1", tmp_path / "1.log.2", tmp_path / "1.log.3"]
    assert tail(parts, 2) == b"c\nd\n"
    assert tail(parts, 9) == b"a\nb\nc\nd\n"


def test_a_full_file_is_rotated_and_the_number_of_files_is_bounded(tmp_path: Path) -> None:
    kept = logs(tmp_path)
    path = kept.path(7, 1)
    for round_number in range(5):
        write(path, f"{round_number}".encode() * 100)
        assert kept.rotate(7, 1)
    assert path.read_bytes() == b""
    assert sorted(each.name for each in path.parent.iterdir()) == ["1.log", "1.log.1", "1.log.2"]
    assert path.with_name("1.log.1").read_bytes() == b"4" * 100
    assert path.with_name("1.log.2").read_bytes() == b"3" * 100
    assert path.with_name("1.log.1").stat().st_mode & 0o777 == 0o600


def test_a_small_or_missing_file_is_left_alone(tmp_path: Path) -> None:
    kept = logs(tmp_path)
    assert not kept.rotate(7, 1)
    write(kept.path(7, 1), b"x")
    assert not kept.rotate(7, 1)


def test_only_the_last_attempts_are_kept(tmp_path: Path) -> None:
    kept = logs(tmp_path)
    for attempt in (1, 2, 9, 10):
        write(kept.path(7, attempt), b"x")
    write(kept.path(7, 2).with_name("2.log.1"), b"x")
    kept.forget_old_attempts(7)
    assert kept.attempts(7) == [9, 10]
    assert not kept.path(7, 2).with_name("2.log.1").exists()


def test_the_logs_of_long_gone_instances_are_cleared(tmp_path: Path) -> None:
    kept = logs(tmp_path)
    for instance_id in range(1, 31):
        write(kept.path(instance_id, 1), b"x")
    kept.forget_ended(living={1, 2})
    assert sorted(int(each.name) for each in kept.directory.iterdir()) == [1, 2, *range(11, 31)]


async def test_a_missing_log_is_said(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        await logs(tmp_path).read(7, 3, 10)
    assert caught.value.code == "log_missing"
    assert caught.value.params == {"instance_id": 7, "attempt": 3}


async def test_an_earlier_attempt_can_be_read_and_the_newest_is_the_default(tmp_path: Path) -> None:
    kept = logs(tmp_path)
    write(kept.path(7, 1), b"FIRST-ERROR-1\n")
    write(kept.path(7, 2), b"FIRST-ERROR-2\n")
    assert (await kept.read(7, 1, 10))[0] == b"FIRST-ERROR-1\n"
    assert (await kept.read(7, None, 10))[0] == b"FIRST-ERROR-2\n"


async def test_following_goes_on_over_rotations_and_attempts_and_loses_nothing(tmp_path: Path) -> None:
    kept = logs(tmp_path, file_bytes=10)
    path = kept.path(7, 1)
    write(path, b"old\n")
    _, place = await kept.read(7, None, 0)
    is_open = True
    got = b""

    async def follow() -> None:
        nonlocal got
        following = kept.follow(7, place, clock=SystemClock(), goes_on=lambda: is_open, all_attempts=True)
        async for chunk in following:
            got += chunk

    task = asyncio.create_task(follow())
    for number in range(4):
        write(path, b"line %d, long\n" % number)
        await until(lambda number=number: b"line %d" % number in got)
        write(path, b"after %d\n" % number)
        kept.rotate(7, 1)
    write(kept.path(7, 2), b"second attempt\n")
    await until(lambda: b"second" in got)
    is_open = False
    await task
    expected = b"".join(b"line %d, long\nafter %d\n" % (number, number) for number in range(4))
    assert got == expected + b"second attempt\n"


async def test_following_a_finished_attempt_ends_with_it(tmp_path: Path) -> None:
    kept = logs(tmp_path)
    write(kept.path(7, 1), b"one\n")
    write(kept.path(7, 2), b"two\n")
    _, place = await kept.read(7, 1, 10)
    write(kept.path(7, 1), b"last words\n")
    following = kept.follow(7, place, clock=SystemClock(), goes_on=lambda: False, all_attempts=False)
    assert [chunk async for chunk in following] == [b"last words\n"]


async def until(condition: object) -> None:
    async with asyncio.timeout(10):
        while not condition():  # type: ignore[operator]
            await asyncio.sleep(0.01)
