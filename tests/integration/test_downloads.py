"""What a worker holds of repositories: fetched from a hub that speaks HTTP, whatever happens on the way."""

import asyncio
import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_lite.errors import Refusal
from tests.fakes.holdings import holdings, wish
from tests.fakes.hub import Hub, running_hub
from worker.downloads import job

pytestmark = pytest.mark.integration
LARGE = bytes(range(256)) * 8192
"""2 MiB: more than a socket holds, so that a hub can stop in the middle of it."""
FILES = {"config.json": b"{}", "model.safetensors": LARGE, "sub/more.json": b"[1]"}


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running_hub() as running:
        running.add("org/name", FILES)
        yield running


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_RETRY_SECONDS", "LAST_RETRY_SECONDS", "ROOM_SECONDS", "TELL_SECONDS"):
        monkeypatch.setattr(job, name, 0.02)


def fetched(hub: Hub, name: str) -> list[str | None]:
    """The ranges that were asked of where large files lie."""
    return [each.headers.get("Range") for each in hub.seen if each.path == f"/cdn/org/name/{name}"]


def is_all_there(path: str) -> bool:
    return all((Path(path) / name).read_bytes() == content for name, content in FILES.items())


@pytest.mark.parametrize("source", ["huggingface:org/name", "modelscope:org/name"])
async def test_files_lie_in_the_layout_of_the_cache_of_hugging_face(hub: Hub, tmp_path: Path, source: str) -> None:
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish(source=source)])
        path = await here.path()
    snapshots = tmp_path / "models" / source.partition(":")[0] / "models--org--name" / "snapshots"
    assert path == str(snapshots / hub.repos["org/name"].commit)
    assert is_all_there(path)
    assert (Path(path) / "model.safetensors").resolve().name == hashlib.sha256(LARGE).hexdigest()
    assert here.status().done_bytes == here.status().size_bytes == sum(map(len, FILES.values()))


async def test_the_client_of_hugging_face_would_find_a_branch(hub: Hub, tmp_path: Path) -> None:
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish(revision="v1.0")])
        await here.path()
    ref = tmp_path / "models/huggingface/models--org--name/refs/v1.0"
    assert ref.read_text() == hub.repos["org/name"].commit


async def test_a_cut_download_goes_on_where_it_stopped(hub: Hub, tmp_path: Path) -> None:
    hub.faults.truncate, hub.faults.truncate_only = 1, "/cdn/"
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish()])
        assert is_all_there(await here.path())
    first, second = fetched(hub, "model.safetensors")
    assert (first, second) == (None, f"bytes={len(LARGE) // 2}-")


async def test_a_hub_without_ranges_is_asked_for_all_of_it(hub: Hub, tmp_path: Path) -> None:
    hub.faults.truncate, hub.faults.truncate_only, hub.faults.no_ranges = 1, "/cdn/", True
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish()])
        assert is_all_there(await here.path())


async def test_another_worker_on_the_same_disk_goes_on_where_the_first_was_killed(hub: Hub, tmp_path: Path) -> None:
    half = tmp_path / "models/huggingface/models--org--name/blobs" / f"{hashlib.sha256(LARGE).hexdigest()}.incomplete"
    half.parent.mkdir(parents=True)
    half.write_bytes(LARGE[: 1 << 20])
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish()])
        assert is_all_there(await here.path())
    assert fetched(hub, "model.safetensors") == [f"bytes={1 << 20}-"]


async def test_wrong_bytes_are_fetched_again_and_then_refused(hub: Hub, tmp_path: Path) -> None:
    hub.faults.wrong_bytes = True
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish(include=("model.safetensors",))])
        status = await here.until_state("failed")
        assert status.said is not None
        assert status.said.code == "files_corrupt"
        hub.faults.wrong_bytes = False
        assert is_all_there(await here.path())


async def test_a_blob_that_was_changed_on_the_disk_is_fetched_again(hub: Hub, tmp_path: Path) -> None:
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish()])
        path = await here.path()
        (Path(path) / "model.safetensors").resolve().write_bytes(bytes(len(LARGE)))
        assert is_all_there(await here.path())
    assert len(fetched(hub, "model.safetensors")) == 2


async def test_what_is_whole_needs_no_hub(hub: Hub, tmp_path: Path) -> None:
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish()])
        path = await here.path()
    count = len(hub.seen)
    async with holdings(tmp_path, hub) as again:
        again.store.apply([wish(id=9)])
        assert await again.path(9) == path
    assert len(hub.seen) == count


async def test_two_that_want_the_same_share_one_download(hub: Hub, tmp_path: Path) -> None:
    async with holdings(tmp_path, hub) as here, holdings(tmp_path, hub) as other:
        here.store.apply([wish(1), wish(2, include=("model.*",))])
        other.store.apply([wish(3)])
        paths = [await here.path(1), await here.path(2), await other.path(3)]
    assert len(set(paths)) == 1
    assert len(fetched(hub, "model.safetensors")) == 1


async def test_who_waits_for_another_says_so_and_shows_how_far_that_one_is(hub: Hub, tmp_path: Path) -> None:
    """D05: one directory, two workers; a lock that ends with its process."""
    hub.faults.stall, hub.faults.stall_above = threading.Event(), 4096
    async with holdings(tmp_path, hub) as here, holdings(tmp_path, hub) as other:
        here.store.apply([wish(1)])
        await here.until(lambda status: (status.done_bytes or 0) > 1 << 19)
        other.store.apply([wish(2)])
        status = await other.until(lambda status: status.said and (status.done_bytes or 0) > 1 << 19, 2)
        assert status.said is not None
        assert (status.state, status.said.code) == ("downloading", "files_fetched_by_another")
        hub.faults.stall.set()
        assert is_all_there(await other.path(2))
        assert other.status(2).said is None
    assert len(fetched(hub, "model.safetensors")) == 1


async def test_a_busy_hub_is_asked_again_when_it_said(hub: Hub, tmp_path: Path) -> None:
    hub.faults.busy, hub.faults.retry_after, hub.faults.broken = 2, "0", 2
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish()])
        assert is_all_there(await here.path())


async def test_a_gated_repository_is_refused_in_one_sentence(hub: Hub, tmp_path: Path) -> None:
    hub.add("org/closed", FILES, token="secret", gated=True)
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish(source="huggingface:org/closed")])
        with pytest.raises(Refusal, match="hub_gated"):
            await here.path()
        assert here.status().state == "failed"


async def test_a_pause_keeps_what_came_and_a_resume_goes_on(hub: Hub, tmp_path: Path) -> None:
    hub.faults.hold = threading.Event()
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish()])
        here.store.apply([wish(wanted="paused")])
        await here.until_state("paused")
        hub.faults.hold.set()
        here.store.apply([wish()])
        assert is_all_there(await here.path())


async def test_a_disk_without_room_is_said_before_a_byte_comes(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = {"bytes": 1000}
    monkeypatch.setattr(job.Job, "_free_bytes", lambda self: free["bytes"])
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish()])
        status = await here.until(lambda status: status.said)
        assert status.said is not None
        assert (status.state, status.said.code) == ("waiting", "files_no_room")
        assert status.said.params["needed_bytes"] == sum(map(len, FILES.values()))
        assert fetched(hub, "model.safetensors") == []
        free["bytes"] = 1 << 40
        assert is_all_there(await here.path())


async def test_a_disk_that_fills_up_meanwhile_is_said_and_tried_again(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from worker.downloads import fetching

    write, room = fetching._write, asyncio.Event()

    def full(*arguments: object) -> None:
        if not room.is_set():
            raise OSError(28, "No space left on device")
        write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(fetching, "_write", full)
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish()])
        status = await here.until(lambda status: status.said)
        assert status.said is not None
        assert status.said.code == "files_disk_full"
        room.set()
        assert is_all_there(await here.path())


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "a\\..\\evil", "a\0b", "a//b"])
async def test_a_hostile_name_writes_nothing_anywhere(hub: Hub, tmp_path: Path, name: str) -> None:
    hub.add("org/hostile", {"config.json": b"{}", name: b"evil", "model.safetensors": LARGE})
    folder = tmp_path / "inner" / "data"
    async with holdings(folder, hub) as here:
        here.store.apply([wish(source="huggingface:org/hostile")])
        await here.until(lambda status: status.state in {"ready", "failed"})
    outside = [each for each in tmp_path.rglob("*") if each.is_file() and not each.is_relative_to(folder)]
    assert outside == []
    assert not any("evil" in each.name for each in folder.rglob("*"))


async def test_a_link_in_the_way_is_not_followed(hub: Hub, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = tmp_path / "data/models/huggingface/models--org--name"
    place.mkdir(parents=True)
    (place / "snapshots").symlink_to(elsewhere)
    async with holdings(tmp_path / "data", hub) as here:
        here.store.apply([wish()])
        status = await here.until_state("failed")
    assert status.said is not None
    assert status.said.code == "files_outside"
    assert list(elsewhere.iterdir()) == []


async def test_a_deletion_leaves_nothing_and_no_trace_of_others_goes(hub: Hub, tmp_path: Path) -> None:
    async with holdings(tmp_path, hub) as here:
        here.store.apply([wish(1), wish(2, include=("config.json", "sub/*"))])
        path = Path(await here.path(1))
        await here.path(2)
        here.store.apply([wish(1, wanted="absent"), wish(2, include=("config.json", "sub/*"))])
        await here.until_state("gone", 1)
        assert (path / "config.json").read_bytes() == b"{}"
        assert not (path / "model.safetensors").exists()
        here.store.apply([wish(2, include=("config.json", "sub/*"), wanted="absent")])
        await here.until_state("gone", 2)
    assert not (tmp_path / "models/huggingface/models--org--name").exists()


ADOPTED = [
    pytest.param("huggingface", "hf/hub/models--org--name/snapshots/{commit}", {"HF_HOME": "hf"}, id="Hugging Face"),
    pytest.param("modelscope", "ms/models/org/name", {"MODELSCOPE_CACHE": "ms"}, id="ModelScope"),
    pytest.param("modelscope", "gs/cache/model_scope/org/name", {"GPUSTACK_DATA_DIR": "gs"}, id="GPUStack 0.6"),
    pytest.param("huggingface", "gs/cache/huggingface/org/name", {"GPUSTACK_DATA_DIR": "gs"}, id="GPUStack 0.6 of HF"),
]


@pytest.mark.parametrize(("kind", "place", "environ"), ADOPTED)
async def test_copies_of_other_programs_are_used_where_they_are(
    hub: Hub, tmp_path: Path, kind: str, place: str, environ: dict[str, str]
) -> None:
    copy = tmp_path / place.format(commit=hub.repos["org/name"].commit)
    (copy / "sub").mkdir(parents=True)
    (copy / "model.safetensors").write_bytes(LARGE)
    (copy / "config.json").write_bytes(b"??")  # as long as the right one
    known = {name: str(tmp_path / value) for name, value in environ.items()}
    async with holdings(tmp_path / "data", hub, **known) as here:
        here.store.apply([wish(source=f"{kind}:org/name")])
        path = await here.path()
        assert is_all_there(path)
        assert (Path(path) / "model.safetensors").resolve() == (copy / "model.safetensors").resolve()
        here.store.apply([wish(source=f"{kind}:org/name", wanted="absent")])
        await here.until_state("gone")
    assert fetched(hub, "model.safetensors") == []
    assert (copy / "model.safetensors").read_bytes() == LARGE
