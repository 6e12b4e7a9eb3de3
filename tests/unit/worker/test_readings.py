"""Numbers from a made-up /proc."""

from pathlib import Path

from gpustack_lite.ports import Identity
from worker.probe import Readings
from worker.readings import of_tree, resident_bytes


def test_what_a_tree_read_and_holds(tmp_path: Path) -> None:
    for pid, rchar in ((10, 500), (11, 900)):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "io").write_text(f"rchar: {rchar}\nwchar: 1\nread_bytes: 700\n")
        (tmp_path / str(pid) / "status").write_text("Name:\tx\nVmRSS:\t  40 kB\nRssAnon:\t 10 kB\nRssShmem:\t 2 kB\n")
    (tmp_path / "engine.log").write_text("abc")
    tree = [Identity(10, 1, "b"), Identity(11, 1, "b"), Identity(12, 1, "b")]
    assert of_tree(tree, tmp_path / "engine.log", tmp_path) == Readings(3, 700 + 900, 2 * 40 * 1024)
    assert resident_bytes(10, tmp_path) == (40 * 1024, 12 * 1024)
