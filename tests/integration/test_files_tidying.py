"""What the server forgets of files and batches, and what it keeps."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries import batches, files
from gpustack_lite.db.tables import Batch, StoredFile
from gpustack_lite.filestore import FileStore, id_of
from gpustack_lite.ports import Ports
from gpustack_lite.server import tidying
from tests.fakes.clock import START
from tests.fakes.cluster import make_cluster

pytestmark = pytest.mark.integration
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def file(file_id: str, **given: Any) -> StoredFile:
    told = {"user_id": 1, "filename": "a", "purpose": "batch", "size_bytes": 1, "created_at": START, **given}
    return StoredFile(id=file_id, **told)


def batch(batch_id: str, **given: Any) -> Batch:
    told = {"user_id": 1, "endpoint": "e", "input_file_id": "read", "created_at": START, "expires_at": START + DAY}
    return Batch(id=batch_id, **(told | given))


async def test_what_is_over_is_forgotten_and_what_is_needed_stays(db: Database, ports: Ports, tmp_path: Path) -> None:
    cluster = await make_cluster(db, ports, data_dir=tmp_path, file_retention_days=2)
    store = FileStore(tmp_path)
    store.folder.mkdir()
    fresh, begun = START.timestamp(), id_of("batch_open", "output")
    for name, written_at in {"over": 0, "kept": 0, "read": 0, "left": 0, "new": fresh, begun: 0}.items():
        store.path(name).write_text("x")
        os.utime(store.path(name), (written_at, written_at))
    async with db.write() as session:
        session.add_all([file("over", expires_at=START), file("kept", expires_at=START + DAY)])
        session.add_all(
            [file("read", expires_at=START), batch("batch_open"), batch("batch_late", ended_at=START - DAY)]
        )
        session.add(batch("batch_old", status="completed", ended_at=START - 3 * DAY))
    await tidying.step(cluster.core)
    assert sorted(path.name for path in store.folder.iterdir()) == sorted(["kept", "read", "new", begun])
    async with db.read() as session:
        assert await files.ids(session) == {"kept", "read"}
        assert await batches.open_ids(session) == ["batch_late", "batch_open"]
        assert await session.get(Batch, "batch_old") is None


async def test_an_upload_that_nobody_ended_goes_after_an_hour(db: Database, ports: Ports, tmp_path: Path) -> None:
    cluster = await make_cluster(db, ports, data_dir=tmp_path)
    store = FileStore(tmp_path)
    incoming = store.incoming("file-1")
    incoming.append(b"x")
    (path,) = store.folder.iterdir()
    for written_at, is_there in ((START - HOUR / 2, True), (START - 2 * HOUR, False)):
        os.utime(path, (written_at.timestamp(), written_at.timestamp()))
        await tidying.step(cluster.core)
        assert path.exists() is is_there
    incoming.discard()
