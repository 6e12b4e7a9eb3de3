"""Paths that people name: one function, held against what has opened other programs' disks."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.hub import facts, roots, sources
from gpustack_lite.hub.roots import Roots

CANARY = b"canary: what nobody may read through us"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(CANARY)
    inside = tmp_path / "root"
    (inside / "model").mkdir(parents=True)
    (inside / "model" / "file").write_bytes(b"weights")
    (inside / "up").symlink_to("..")
    (inside / "out").symlink_to(tmp_path / "outside")
    (inside / "leaf").symlink_to(tmp_path / "outside" / "secret")
    (inside / "loop").symlink_to("loop")
    (inside / "within").symlink_to("model/file")
    os.mkfifo(inside / "pipe")
    return inside


WAYS_OUT = (
    *("../outside/secret", "model/../../outside/secret", "./../outside/secret", "up/outside/secret", "out/secret"),
    *("leaf", "model/../leaf", "..", "../", "/etc/passwd", "../root2/secret", "up/up/etc/passwd"),
)


@pytest.mark.parametrize("way", WAYS_OUT)
def test_no_way_leads_out(root: Path, way: str) -> None:
    with pytest.raises(Refusal, match="path_outside_roots"):
        Roots([root]).real(root / way)
    with pytest.raises(Refusal, match="path_outside_roots"), Roots([root]).opened(root / way):
        pass


@pytest.mark.parametrize(
    "way", ["%2e%2e/outside/secret", "%252e%252e/outside/secret", "..%2foutside", "..\\outside\\secret"]
)
def test_nothing_is_decoded_on_the_way(root: Path, way: str) -> None:
    """A name is what the file system takes it for, and there is no such file."""
    with pytest.raises(Refusal, match="source_missing"):
        Roots([root]).real(root / way)


def test_a_root_whose_name_another_begins_with_is_not_that_other(root: Path) -> None:
    (root.parent / "root-2").mkdir()
    (root.parent / "root-2" / "secret").write_bytes(CANARY)
    with pytest.raises(Refusal, match="path_outside_roots"):
        Roots([root]).real(root.parent / "root-2" / "secret")


@pytest.mark.parametrize("name", ["pipe", "model"])
def test_what_is_no_file_is_not_opened_and_nobody_waits(root: Path, name: str) -> None:
    with pytest.raises(Refusal, match="not_a_model"), Roots([root]).opened(root / name):
        pass


def test_a_loop_of_links_ends(root: Path) -> None:
    with pytest.raises((Refusal, OSError)), Roots([root]).opened(root / "loop"):
        pass


def test_a_link_that_stays_inside_is_followed(root: Path) -> None:
    with Roots([root]).opened(root / "within") as file:
        assert file.read() == b"weights"


class Swaps(Roots):
    """Somebody puts a link in the way just after the path was looked at."""

    def __init__(self, allowed: Path, victim: Path, target: Path) -> None:
        super().__init__([allowed])
        self._victim, self._target = victim, target

    def real(self, path: Path) -> Path:
        found = super().real(path)
        self._victim.rename(self._victim.with_name("gone"))
        self._victim.symlink_to(self._target)
        return found


@pytest.mark.parametrize(
    ("swapped", "target", "asked"),
    [
        pytest.param("model/file", "secret", "model/file", id="the file itself"),
        pytest.param("model", ".", "model/secret", id="a directory above it"),
    ],
)
def test_a_link_that_is_put_there_during_the_check_gains_nothing(
    root: Path, swapped: str, target: str, asked: str
) -> None:
    (root / "model" / "secret").write_bytes(b"harmless")
    racing = Swaps(root, root / swapped, root.parent / "outside" / target)
    with pytest.raises(Refusal, match="path_outside_roots"), racing.opened(root / asked) as file:
        assert file.read() != CANARY


def test_the_same_race_is_lost_by_a_check_that_does_not_look_at_what_it_opened(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vulnerable twin: without the second look the canary is read."""
    monkeypatch.setattr(roots, "_whereabouts", lambda _, real: real)
    racing = Swaps(root, root / "model/file", root.parent / "outside" / "secret")
    with racing.opened(root / "model/file") as file:
        assert file.read() == CANARY


def test_a_path_that_leads_elsewhere_before_the_launch_is_noticed(root: Path) -> None:
    checked = Roots([root])
    real = checked.real(root / "model")
    checked.must_still_be(root / "model", real)
    (root / "other").mkdir()
    (root / "model").rename(root / "gone")
    (root / "model").symlink_to("other")
    with pytest.raises(Refusal, match="path_changed"):
        checked.must_still_be(root / "model", real)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_file_of_a_model_that_leads_out_is_not_read(root: Path, name: str) -> None:
    folder = root / "evil"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(root.parent / "outside" / "secret")
    with pytest.raises(Refusal, match="path_outside_roots"):
        facts.read(folder, [root])


def hidden() -> Iterator[str]:
    for code in (0x00, 0x0A, 0x1B, 0x7F, 0x85, 0xAD, 0x200B, 0x200E, 0x202E, 0x2028, 0x2060, 0x2066, 0xFEFF, 0xE0041):
        yield f"/models/m{chr(code)}x"
    yield "/models\\..\\..\\etc"
    yield "file:///models\\m"


@pytest.mark.parametrize("source", list(hidden()))
def test_a_source_with_what_nobody_sees_is_refused(source: str) -> None:
    with pytest.raises(Refusal, match="source_unprintable"):
        sources.parse(source)


@pytest.mark.parametrize("source", ["file://host/etc/passwd", "./m", "../m", "~/m", "~root/m", "C:\\m", "m/../../etc"])
def test_a_source_is_absolute_or_no_path(source: str) -> None:
    with pytest.raises(Refusal):
        sources.parse(source)
