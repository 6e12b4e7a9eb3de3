"""What an engine finds in its environment."""

from pathlib import Path

import pytest

from gpustack_lite.errors import Refusal
from worker.runtimes.confinement import private
from worker.runtimes.environment import MARKER, environment, inherited


def test_secrets_of_ours_stay_with_us() -> None:
    ours = {
        "PATH": "/bin",
        "http_proxy": "http://proxy",
        "LC_ALL": "C",
        "CUDA_HOME": "/cuda",
        "ASCEND_HOME_PATH": "/a",
        "HF_ENDPOINT": "https://hub",
        "HF_TOKEN": "secret",
        "GPUSTACK_LITE_CHILD": "secret",
        "GPUSTACK_LITE_API_KEY": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "LD_PRELOAD": "/x.so",
        "GPUSTACK_LITE_INSTANCE": "somebody:1",
    }
    assert inherited(ours) == {
        "PATH": "/bin",
        "http_proxy": "http://proxy",
        "LC_ALL": "C",
        "CUDA_HOME": "/cuda",
        "ASCEND_HOME_PATH": "/a",
        "HF_ENDPOINT": "https://hub",
    }


def test_the_backend_says_which_devices_are_seen_and_the_marker_is_ours() -> None:
    made = environment({"PATH": "/bin"}, {"A": "1", "B": "2"}, {"B": "3", "CUDA_VISIBLE_DEVICES": "3"}, "w:1")
    fixed = {"SPT_NOENV": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert made == {"PATH": "/bin", "A": "1", "B": "3", "CUDA_VISIBLE_DEVICES": "3", MARKER: "w:1"} | fixed


@pytest.mark.parametrize("name", ["GPUSTACK_LITE_INSTANCE", "gpustack_lite_x", "LD_PRELOAD", "LD_AUDIT", "A=B", "A\0B"])
def test_a_model_may_not_set(name: str) -> None:
    with pytest.raises(Refusal) as caught:
        environment({}, {name: "x"}, {}, "w:1")
    assert caught.value.code in {"env_not_allowed", "env_invalid"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOME", "/root"),
        ("HF_HOME", "/root/.cache"),
        ("HF_TOKEN_PATH", "/t"),
        ("MODELSCOPE_CACHE", "/root/.cache"),
        ("XDG_CACHE_HOME", "/root/.cache"),
        ("NVIDIA_API_KEY", "s"),
        ("ASCEND_ACCESS_KEY_ID", "s"),
        ("https_proxy", "http://ada:secret@proxy:3128"),
        ("HTTPS_PROXY", "http://token@proxy:3128"),
        ("HF_ENDPOINT", "https://ada:secret@hub"),
        ("PYTHONPATH", "/x"),
        ("DATABASE_URL", "postgresql://x"),
    ],
)
def test_neither_a_home_nor_a_secret_in_an_address_is_passed_on(name: str, value: str) -> None:
    assert inherited({name: value}) == {}


def test_an_engine_lives_in_a_directory_of_its_own() -> None:
    made = environment({"HOME": "/root", "TMPDIR": "/tmp"}, {}, {}, "w:1", private(Path("/d/7")))
    assert made["HOME"] == "/d/7/home"
    assert made["TMPDIR"] == "/d/7/tmp"
    assert {made[name].partition("/home")[0] for name in made if name.startswith("XDG_")} == {"/d/7"}


def test_sockets_of_engines_fit_where_the_way_is_long() -> None:
    assert "TMPDIR" not in private(Path("/" + "x" * 60))
