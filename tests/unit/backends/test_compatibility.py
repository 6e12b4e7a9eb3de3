"""What is documented to go together, and what is said of it."""

import pytest

from backends import compatibility_data as data
from backends.compatibility import Host, of_driver, order, plain, plan, verdict
from gpustack_lite.messages import CATALOGUE, text


@pytest.mark.parametrize(
    ("host", "chip", "backend", "version", "status", "code"),
    [
        pytest.param(Host("25.5.1", "9.1.0"), "910B3", "vllm_ascend", "0.23.0", "ok", "engine_on_chip", id="all fits"),
        pytest.param(
            Host("25.5.1", "9.1.0"), "910B3", "vllm_ascend", "0.23.0.post1", "ok", "engine_on_chip", id="post"
        ),
        pytest.param(Host(None, "8.2.RC1"), "910B3", "vllm_ascend", "0.23.0", "wrong", "cann_differs", id="CANN"),
        pytest.param(Host("24.1.RC1"), "910B3", "vllm_ascend", "0.23.0", "wrong", "driver_too_old", id="old driver"),
        pytest.param(Host("25.0.RC1", "9.1.0"), "910B3", "vllm_ascend", "0.23.0", "wrong", "driver_too_old", id="25.0"),
        pytest.param(Host("27.0.0", "9.1.0"), "910B3", "vllm_ascend", "0.23.0", "unknown", "driver_unlisted", id="new"),
        pytest.param(Host(), "310B4", "vllm_ascend", None, "wrong", "engine_not_on_chip", id="chip"),
        pytest.param(Host(), "910A", "vllm_ascend", None, "wrong", "engine_not_on_chip", id="910A"),
        pytest.param(Host("25.5.1"), "Ascend910", "vllm_ascend", "0.23.0", "ok", "engine_on_chip", id="A3 by npu-smi"),
        pytest.param(Host(), "910B3", "vllm_ascend", "0.23.0", "unknown", "host_tells_no_driver", id="nothing told"),
        pytest.param(Host(), "310P3", "vllm_ascend", "9.9.9", "unknown", "engine_version_unlisted", id="unlisted"),
        pytest.param(Host(None, "8.3.RC2"), "910B2", "mindie", "2.2.RC1", "ok", "engine_on_chip", id="MindIE fits"),
        pytest.param(Host(None, "8.2.RC1"), "910B2", "mindie", "2.2.RC1", "wrong", "cann_differs", id="MindIE CANN"),
        pytest.param(
            *(Host(nvidia_driver="535.183.01"), "NVIDIA A100-SXM4-80GB", "vllm", "0.32.0"),
            *("wrong", "nvidia_driver_too_old"),
            id="NVIDIA driver",
        ),
        pytest.param(
            *(Host(nvidia_driver="535.183.01"), "NVIDIA A100-SXM4-80GB", "vllm", "0.32.0+cu129"),
            *("ok", "capability_fits"),
            id="other CUDA",
        ),
        pytest.param(Host(), "Tesla V100", "vllm", "0.32.0", "wrong", "capability_too_low", id="old GPU"),
        pytest.param(
            Host(nvidia_driver="550.1"), "Tesla V100", "vllm", "0.11.0", "ok", "capability_fits", id="old GPU, old vLLM"
        ),
        pytest.param(Host(), "Ryzen", "llama_cpp", "1", "unknown", "compatibility_unlisted", id="nothing known"),
    ],
)
def test_a_combination_is_judged_by_what_is_documented(
    host: Host, chip: str, backend: str, version: str | None, status: str, code: str
) -> None:
    found = verdict(host, chip, backend, version)
    assert (found.status, found.said.code) == (status, code)


def test_a_wrong_combination_names_the_right_one() -> None:
    found = verdict(Host(None, "8.2.RC1", name="w1"), "910B3", "vllm_ascend", "0.23.0")
    assert found.remedy is not None
    assert text(found.said) == "vllm_ascend 0.23.0 needs CANN 9.1.0, and w1 has CANN 8.2.RC1."
    assert "0.9.1" in text(found.remedy)
    assert "9.1.0" in text(found.remedy)


def test_an_image_has_its_own_cann_and_only_the_driver_is_the_hosts() -> None:
    host = Host("25.5.1", "8.2.RC1")
    assert verdict(host, "910B3", "vllm_ascend", "0.23.0", brings_cann=True).status == "ok"
    old = Host("24.1.0", "9.1.0")
    assert verdict(old, "910B3", "vllm_ascend", "0.23.0", brings_cann=True).said.code == "driver_too_old"


def test_a_gpu_of_an_unknown_name_is_judged_by_what_it_tells() -> None:
    host = Host(nvidia_driver="535.1")
    assert verdict(host, "Quadro X", "vllm", "0.32.0").said.code == "compatibility_unlisted"
    assert verdict(host, "Quadro X", "vllm", "0.32.0", compute="8.9").said.code == "nvidia_driver_too_old"
    assert verdict(host, "Quadro X", "vllm", "0.11.0", compute="6.1").said.code == "capability_too_low"


def test_a_release_candidate_comes_before_its_release() -> None:
    versions = ["8.1.RC1", "8.2.RC1", "8.2.rc2", "8.2.0", "8.10.0", "24.1.RC3", "24.1.0", "25.0.RC1"]
    assert sorted(versions, key=order) == versions


@pytest.mark.parametrize(("version", "release"), [("path-0.23.0", "0.23.0"), ("0.20.0+cu129", "0.20.0"), (None, None)])
def test_our_own_marks_are_no_part_of_a_version(version: str | None, release: str | None) -> None:
    assert plain(version) == release


def test_a_plan_says_of_every_listed_build_what_a_new_driver_changes() -> None:
    changes = plan(Host("25.5.1"), "910B3", {"driver": "24.1.0"})
    lost = {each.version for each in changes if (each.before.status, each.after.status) == ("ok", "wrong")}
    kept = {each.version for each in changes if each.after.status == "ok"}
    assert {"0.23.0", "0.13.0", "2.3.0"} <= lost
    assert kept == {"0.10.0rc1", "0.9.1", "0.7.3", "2.1.RC1"}


def test_every_row_names_where_it_is_said() -> None:
    rows = (*data.BUILDS, *data.CANN_DRIVERS, *data.VLLM_WHEELS, *data.CUDAS)
    assert all(each.source for each in rows)


def test_every_driver_row_holds_its_own_oldest() -> None:
    for row in data.CANN_DRIVERS:
        if row.oldest is not None:
            assert of_driver(row.cann, row.oldest).status == "ok", row


def test_every_verdict_has_its_sentence() -> None:
    for build in data.BUILDS:
        for driver in ("23.0.6", "25.2.0", "99.1.0"):
            found = verdict(Host(driver, "8.2.RC1"), "910B3", build.backend, build.version)
            assert found.said.code in CATALOGUE
            assert "?" not in text(found.said)
