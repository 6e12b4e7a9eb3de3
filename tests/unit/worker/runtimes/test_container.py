"""The command lines of docker and podman: what is mapped, what is mounted, and what nobody may read."""

import pytest

from gpustack_lite.domain import Device, LaunchSpec
from gpustack_lite.errors import Refusal
from worker.runtimes import container
from worker.runtimes.container import Container

SPEC = LaunchSpec(("vllm", "serve", "/m"), {"VLLM_API_KEY": "secret"}, 21001, "/w/7", shared_memory=("x*",))
PLAIN = Container("/usr/bin/docker", "img:1", "gpl-u-7", "u", 7, 64 * 1024**2)


def chip(index: int, physical: int | None, kind: str = "ascend") -> Device:
    return Device(
        worker="w",
        index=index,
        kind=kind,
        chip="910B3",
        memory_total_bytes=1,
        physical_id=physical,  # type: ignore[arg-type]
    )


def has(argv: tuple[str, ...], *part: str) -> bool:
    return any(argv[at : at + len(part)] == part for at in range(len(argv)))


def test_the_engine_stays_in_the_foreground_on_loopback_and_can_be_found_again() -> None:
    argv = container.argv(SPEC, PLAIN)
    assert argv[:4] == ("/usr/bin/docker", "run", "--rm", "--init")
    assert has(argv, "--name", "gpl-u-7")
    assert has(argv, "--label", "gpustack-lite.worker=u", "--label", "gpustack-lite.instance=7")
    assert has(argv, "--network", "host")
    assert argv[-5:] == ("--entrypoint", "vllm", "img:1", "serve", "/m")
    assert "--privileged" not in argv


def test_what_the_engine_is_told_is_in_no_command_line() -> None:
    spec = container.wrapped(SPEC, PLAIN, {"VLLM_API_KEY": "secret", "DOCKER_HOST": "tcp://elsewhere"})
    assert not any("secret" in each or "elsewhere" in each for each in spec.argv)
    assert (spec.env, spec.shared_memory) == ({}, ())
    assert spec.files[container.ENV_FILE] == "DOCKER_HOST=tcp://elsewhere\nVLLM_API_KEY=secret\n"
    assert spec.file_mode == 0o600


def test_a_value_of_several_lines_would_be_several_variables() -> None:
    with pytest.raises(Refusal):
        container.wrapped(SPEC, PLAIN, {"A": "1\nLD_PRELOAD=/x"})


def test_only_the_chosen_chips_are_mapped_and_inside_they_count_from_zero() -> None:
    chosen = (chip(3, 4), chip(4, 6))
    nodes = container.nodes_of(chosen, lambda path: path in {"/dev/davinci_manager", "/dev/hisi_hdc"})
    assert nodes == ("/dev/davinci4", "/dev/davinci6", "/dev/davinci_manager", "/dev/hisi_hdc")
    assert [each.visible_name for each in container.inside(chosen)] == ["0", "1"]


def test_the_driver_is_mounted_but_never_the_root_that_would_hide_the_images_cann() -> None:
    mounts = container.driver_of((chip(0, 0),), "/usr/local/Ascend", lambda _: True)
    assert "/usr/local/Ascend/driver/lib64" in mounts
    assert {"/usr/local/dcmi", "/usr/local/bin/npu-smi", "/etc/ascend_install.info"} <= set(mounts)
    assert "/usr/local/Ascend" not in mounts
    assert container.driver_of((chip(0, None, "cuda"),), "/usr/local/Ascend", lambda _: True) == ()


@pytest.mark.parametrize("device", [chip(0, None), chip(0, 0, "mlu")], ids=["node unknown", "vendor unknown"])
def test_a_device_that_cannot_be_given_safely_is_refused(device: Device) -> None:
    with pytest.raises(Refusal) as refused:
        container.nodes_of((device,), lambda _: True)
    assert refused.value.code == "engine_container_devices"


def test_gpus_are_named_as_docker_and_as_podman_take_them() -> None:
    gpus = container.gpus_of((chip(0, None, "cuda"), chip(2, None, "cuda")))
    docker = Container("docker", "i", "n", "u", 1, 1, gpus=gpus)
    podman = Container("/usr/bin/podman", "i", "n", "u", 1, 1, gpus=gpus)
    assert has(container.argv(SPEC, docker), "--gpus", '"device=0,2"')
    assert has(container.argv(SPEC, podman), "--device", "nvidia.com/gpu=0", "--device", "nvidia.com/gpu=2")


def test_a_worker_that_is_not_root_can_remove_what_its_engine_wrote() -> None:
    argv = container.argv(SPEC, Container("docker", "i", "n", "u", 1, 1, user=(1000, 1000), groups=(44,)))
    assert has(argv, "--user", "1000:1000", "--group-add", "44", "--env", "HOME=/w/7")
