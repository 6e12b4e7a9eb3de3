from pathlib import Path
from typing import Any

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.form_uploads import FormUploads
from gpustack_lite.gateway.scratch import Scratch
from tests.unit.gateway.test_forms import MODEL, TYPE, part
from tests.unit.gateway.test_uploads import Sender


def sender(*pieces: bytes, length: int | None = None, leaves: bool = False) -> Any:
    call: Any = Sender(*pieces, length=length, leaves=leaves)
    call.headers, call.path = {b"content-type": TYPE}, "/v1/audio/transcriptions"
    return call


async def test_a_large_form_is_on_disk_without_a_name_and_gone_afterwards(tmp_path: Path) -> None:
    uploads = FormUploads(10_000_000, tmp_path / "uploads")
    file = part("file", b"x" * 2_000_000, "a.wav")
    with uploads.held(sender(MODEL, file[:1_500_000], file[1_500_000:], b"--b--")) as upload:
        form = await upload.read()
        assert form.model == "tiny"
        assert upload.kept_bytes == uploads.kept_bytes == len(MODEL) + len(file) + 5
        assert upload._scratch is not None
        assert upload._scratch.read(len(MODEL) + len(file), 100) == b"--b--"
        assert list((tmp_path / "uploads").iterdir()) == []
    assert uploads.kept_bytes == 0


@pytest.mark.parametrize(
    "call", [sender(MODEL, b"x" * 1000), sender(MODEL, length=1001)], ids=["while it comes", "by its length"]
)
async def test_a_form_over_the_limit_is_refused(tmp_path: Path, call: Any) -> None:
    uploads = FormUploads(1000, tmp_path)
    with pytest.raises(Refusal, match="upload_too_large") as refused, uploads.held(call) as upload:
        await upload.read()
    assert (refused.value.status, refused.value.params["limit_bytes"]) == (413, 1000)
    assert uploads.kept_bytes == 0


async def test_all_forms_together_are_bounded(tmp_path: Path) -> None:
    uploads = FormUploads(1000, tmp_path)
    uploads.most_kept_bytes = 1500
    file = part("file", b"x" * 800, "a")
    with uploads.held(sender(MODEL, file, b"--b--")) as first:
        await first.read()
        with pytest.raises(Refusal, match="uploads_full"), uploads.held(sender(MODEL, file, b"--b--")) as second:
            await second.read()


async def test_a_disk_that_takes_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    uploads = FormUploads(10_000_000, tmp_path / "file" / "uploads")
    with pytest.raises(Refusal, match="upload_disk_failed") as refused, uploads.held(sender(b"")) as upload:
        await upload._keep(b"x" * 2_000_000)
    assert refused.value.status == 507


def test_a_scratch_file_is_private_and_closes_once_nobody_uses_it(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    with scratch._open():
        assert scratch._file.fileno()
        scratch.close()
        assert not scratch._file.closed
    assert scratch._file.closed
    with pytest.raises(OSError, match="closed"):
        scratch.append(b"x")
