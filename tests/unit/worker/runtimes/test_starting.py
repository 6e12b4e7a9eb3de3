"""What lies in an engine's working directory before it starts."""

import stat
from pathlib import Path

import pytest

from gpustack_lite.domain import LaunchSpec
from gpustack_lite.errors import Refusal
from gpustack_lite.hub.roots import Roots
from gpustack_lite.ports import Identity, Ports
from tests.fakes.processes import FakeProcesses
from worker.runtimes import process
from worker.runtimes.process import mirror, start


class Starting(FakeProcesses):
    def spawn(self, *_: object, **__: object) -> Identity:
        return Identity(1, 1, "boot")


def begin(spec: LaunchSpec, folder: Path) -> None:
    mirror(spec, Roots([folder]))
    start(Ports(processes=Starting()), spec, {}, folder / "logs" / "1.log")


def spec(folder: Path, **more: object) -> LaunchSpec:
    return LaunchSpec(("/bin/true",), {}, 21000, str(folder / "work"), **more)  # type: ignore[arg-type]


def test_files_have_the_mode_that_the_engine_wants(tmp_path: Path) -> None:
    begin(spec(tmp_path, files={"config.json": "{}"}, file_mode=0o640), tmp_path)
    assert stat.S_IMODE((tmp_path / "work" / "config.json").stat().st_mode) == 0o640


def test_a_copy_of_a_model_has_small_files_links_to_weights_and_our_own_among_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second attempt begins anew; what the links lead to is never written."""
    monkeypatch.setattr(process, "COPIED_BYTES", 6)
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("theirs")
    (model / "vocab").write_text("small")
    (model / "a.safetensors").write_bytes(b"weights")
    made = spec(tmp_path, mirrors={"model": str(model)}, files={"model/config.json": "ours"})
    for _ in range(2):
        begin(made, tmp_path)
    copy = tmp_path / "work" / "model"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o750
    assert (copy / "a.safetensors").resolve() == model / "a.safetensors"
    assert ((copy / "vocab").read_text(), (copy / "vocab").is_symlink()) == ("small", False)
    assert stat.S_IMODE((copy / "vocab").stat().st_mode) == 0o640
    assert ((copy / "config.json").read_text(), (copy / "config.json").is_symlink()) == ("ours", False)
    assert (model / "config.json").read_text() == "theirs"


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", ".."])
def test_nothing_is_written_elsewhere(name: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="engine_file_escapes"):
        begin(spec(tmp_path, files={name: "x"}), tmp_path)


def test_a_model_that_is_gone_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="source_missing"):
        begin(spec(tmp_path, mirrors={"model": str(tmp_path / "gone")}), tmp_path)


def test_a_copy_of_a_model_leaves_its_code_out(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    for name in ("config.json", "modeling_x.py", "evil.PY", "native.so", "a.safetensors"):
        (model / name).write_text("x")
    begin(spec(tmp_path, mirrors={"model": str(model)}, leaves_out=(".py", ".so")), tmp_path)
    assert sorted(path.name for path in (tmp_path / "work" / "model").iterdir()) == ["a.safetensors", "config.json"]


def test_what_a_link_of_a_model_leads_out_to_is_not_copied(tmp_path: Path) -> None:
    """The worker may read it, an engine under an account of its own may not."""
    secret, home = tmp_path / "secret", tmp_path / "home"
    secret.write_text("canary")
    (home / "model").mkdir(parents=True)
    (home / "model" / "config.json").symlink_to(secret)
    with pytest.raises(Refusal, match="path_outside_roots"):
        begin(spec(home, mirrors={"model": str(home / "model")}), home)
    assert "canary" not in "".join(path.read_text() for path in (home / "work").rglob("*") if path.is_file())
