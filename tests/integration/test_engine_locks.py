"""Environments by lock, made by the real uv: what is not the file of the hash is not installed."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from gpustack_lite.domain import BackendVersion
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports
from worker import engines

pytestmark = pytest.mark.integration
TINY = BackendVersion(
    backend="tiny",
    version="1.0",
    device_kinds=frozenset({"cpu"}),
    source="wheel",
    installed=False,
    requirement="tiny==1.0",
)
METADATA = "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", "")
        wheel.writestr("tiny-1.0.dist-info/METADATA", METADATA)
        wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")
    return folder


def lock(wheels: Path, *, right: bool) -> str:
    content = (wheels / "tiny-1.0-py3-none-any.whl").read_bytes()
    digest = hashlib.sha256(content if right else b"another").hexdigest()
    return f"tiny==1.0 \\\n    --hash=sha256:{digest}\n"


@pytest.mark.parametrize("right", [True, False])
async def test_a_lock_that_came_with_us_decides_what_an_index_may_give(
    tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch, right: bool
) -> None:
    locks = tmp_path / "locks"
    locks.mkdir()
    (locks / "tiny-1.0.lock").write_text(lock(wheels, right=right), encoding="utf-8")
    monkeypatch.setattr(engines, "LOCKS", locks)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(wheels))
    if right:
        made = await engines.ensure(TINY, tmp_path / "data", Ports())
        assert list(Path(made.executable or "").parents[1].glob("lib/python3*/site-packages/tiny.py"))
        return
    with pytest.raises(Refusal) as refused:
        await engines.ensure(TINY, tmp_path / "data", Ports())
    assert "Hash mismatch" in str(refused.value.params["why"]) or "hash" in str(refused.value.params["why"]).lower()


@pytest.mark.parametrize("right", [True, False])
async def test_of_an_administrator_s_own_wheels_the_lock_beside_them_decides(
    tmp_path: Path, wheels: Path, right: bool
) -> None:
    (wheels / "tiny-1.0.lock").write_text(lock(wheels, right=right), encoding="utf-8")
    if right:
        assert (await engines.ensure(TINY, tmp_path / "data", Ports(), wheels=wheels)).installed
        return
    with pytest.raises(Refusal, match="engine_install_failed"):
        await engines.ensure(TINY, tmp_path / "data", Ports(), wheels=wheels)
