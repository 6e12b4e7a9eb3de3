"""What is learned of a model that lies on a hub, before anything is downloaded."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpustack_lite.domain import ModelFacts
from gpustack_lite.errors import Refusal
from gpustack_lite.hub import facts as local
from gpustack_lite.hub.hubs import hubs_of
from gpustack_lite.hub.remote_facts import RemoteFacts
from gpustack_lite.hub.repository import Repositories
from gpustack_lite.hub.sources import question, repository
from gpustack_lite.ports import Ports
from gpustack_lite.settings import load
from tests.fakes.gguf import write_tiny_gguf
from tests.fakes.hub import Hub, running_hub

pytestmark = pytest.mark.integration
CONFIG = json.loads((Path(__file__).parents[1] / "fixtures" / "configs.json").read_text())["Qwen3-14B"]


class Reader:
    def __init__(self, hub: Hub, folder: Path | None) -> None:
        self.hub = hub
        self.folder = folder

    def __call__(
        self,
        source: str = "huggingface:org/name",
        *,
        include: tuple[str, ...] = (),
        revision: str | None = None,
        **set_: Any,
    ) -> ModelFacts:
        environ = {"HF_ENDPOINT": self.hub.url, "MODELSCOPE_ENDPOINT": self.hub.url, "HF_HOME": "/nonexistent"}
        ports = Ports()
        repositories = Repositories(hubs_of(load(**set_), environ), ports)
        try:
            return RemoteFacts(repositories, ports.disk, self.folder).read(
                repository(question(source, revision, include))
            )
        finally:
            repositories.close()


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running_hub() as running:
        yield running


@pytest.fixture
def read(hub: Hub, tmp_path: Path) -> Reader:
    return Reader(hub, tmp_path / "cache")


def safetensors(**tensors: tuple[str, list[int]]) -> bytes:
    """A file whose data is zeros."""
    sizes = {"BF16": 2, "F32": 4, "I8": 1}
    header, offset = {}, 0
    for name, (dtype, shape) in tensors.items():
        count = sizes[dtype]
        for length in shape:
            count *= length
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + count]}
        offset += count
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + bytes(offset)


def shard(layer: int, dtype: str = "BF16") -> bytes:
    return safetensors(**{f"model.layers.{layer}.mlp.up_proj.weight": (dtype, [64, 32])})


def add(hub: Hub, *others: tuple[str, Any]) -> None:
    shards = {f"model-{index:05}-of-00003.safetensors": shard(index) for index in (1, 2, 3)}
    hub.add("org/name", {"config.json": CONFIG, **shards, **dict(others)})


@pytest.mark.parametrize("source", ["huggingface:org/name", "modelscope:org/name"])
def test_a_repository_tells_what_its_directory_would(hub: Hub, read: Reader, tmp_path: Path, source: str) -> None:
    add(hub, ("tokenizer.json", {}), ("pytorch_model.bin", bytes(9000)))
    folder = tmp_path / "org"
    folder.mkdir()
    for path in hub.repos["org/name"].files:
        if not path.endswith(".bin"):
            (folder / path).write_bytes(hub.repos["org/name"].content(path))
    found, there = read(source), local.read(folder, [folder])
    assert found.weights_from == "headers"
    assert (found.weights, found.weights_bytes, found.layers) == (there.weights, 3 * 64 * 32 * 2, there.layers)
    assert (found.path, found.revision) == ("", hub.repos["org/name"].commit)
    assert found.files == tuple(f"model-{index:05}-of-00003.safetensors" for index in (1, 2, 3))
    assert found.download_bytes == sum(path.stat().st_size for path in folder.iterdir())
    assert not found.has_pickle


def test_of_quantisations_one_is_chosen_and_named(hub: Hub, read: Reader, tmp_path: Path) -> None:
    for name in ("m-Q8_0.gguf", "m-Q4_K_M.gguf"):
        write_tiny_gguf(tmp_path / name, seed=None, vocab=3000)
    hub.add("org/name", {name: tmp_path / name for name in ("m-Q8_0.gguf", "m-Q4_K_M.gguf")})
    found, there = read(), local.read(tmp_path / "m-Q4_K_M.gguf", [tmp_path])
    assert found.files == ("m-Q4_K_M.gguf",)
    assert (found.vocab_size, found.weights_bytes, found.format) == (3000, there.weights_bytes, "gguf")
    assert read(include=("*Q8_0*",)).files == ("m-Q8_0.gguf",)
    with pytest.raises(Refusal, match="several_models"):
        read(include=("*.gguf",))


def test_a_model_behind_a_url(hub: Hub, read: Reader, tmp_path: Path) -> None:
    hub.add("org/name", {"m.gguf": write_tiny_gguf(tmp_path / "m.gguf", seed=None)})
    found = read(f"{hub.url}/files/org/name/m.gguf", url_hosts=(hub.url,))
    assert (found.architecture, found.files) == ("llama", ("m.gguf",))


def test_weights_of_modelslim_are_known_by_their_description(hub: Hub, read: Reader) -> None:
    described = {"model_quant_type": "W8A8", "model.layers.0.mlp.up_proj.weight": "W8A8"}
    add(hub, ("quant_model_description_w8a8.json", described))
    found = read()
    assert (found.quantization, found.quantization_method) == ("w8a8", "ascend")


def test_pickled_weights_have_the_size_of_their_files(hub: Hub, read: Reader) -> None:
    hub.add("org/name", {"config.json": CONFIG, "pytorch_model.bin": bytes(9000)})
    found = read()
    assert (found.weights_from, found.weights_bytes, found.has_pickle) == ("files", 9000, True)


def test_a_pipeline_tells_what_it_is_and_how_large(hub: Hub, read: Reader) -> None:
    files = {"unet/m.safetensors": shard(1), "vae/m.safetensors": shard(2), "unet/config.json": {}}
    hub.add("org/name", {"model_index.json": {"_class_name": "StableDiffusionPipeline"}, **files})
    found = read()
    assert (found.kind, found.architecture) == ("image", "StableDiffusionPipeline")
    assert found.weights_bytes == len(shard(1)) + len(shard(2))
    assert "config.json" in found.unknown


def test_a_model_without_config_says_so(hub: Hub, read: Reader) -> None:
    hub.add("org/name", {"model.safetensors": shard(1), "voice.json": {}})
    found = read()
    assert (found.kind, found.weights_bytes, found.unknown) == ("unknown", len(shard(1)), ("config.json",))


def test_where_headers_cannot_be_read_the_sizes_are_known(hub: Hub, read: Reader) -> None:
    add(hub)
    hub.faults.truncate, hub.faults.truncate_only = -1, ".safetensors"
    found = read()
    assert (found.weights_from, "headers" in found.unknown) == ("files", True)


def test_what_was_learned_of_a_commit_is_not_asked_for_again(hub: Hub, read: Reader) -> None:
    add(hub)
    first = read()
    hub.seen.clear()
    assert read(revision=first.revision) == first
    assert hub.seen == []
    assert read() == first
    assert not any("resolve" in path or "cdn" in path for path in hub.paths())


def test_a_new_commit_is_read_anew(hub: Hub, read: Reader) -> None:
    add(hub)
    first = read()
    hub.add("org/name", {"config.json": CONFIG, "model.safetensors": shard(1)})
    assert read().revision != first.revision


@pytest.mark.parametrize("fault", ["offline", "broken", "busy"])
def test_a_hub_that_is_away_leaves_what_was_learned_before(hub: Hub, read: Reader, fault: str) -> None:
    add(hub)
    first = read()
    if fault == "offline":
        assert read(offline=True) == first
    else:
        setattr(hub.faults, fault, -1)
        assert read() == first
        with pytest.raises(Refusal):
            read(revision="v1.0")


def test_a_repository_that_was_taken_away_is_not_remembered(hub: Hub, read: Reader) -> None:
    add(hub)
    read()
    hub.repos.clear()
    with pytest.raises(Refusal, match="hub_needs_token"):
        read()


def test_without_a_place_to_remember_it_works_all_the_same(hub: Hub) -> None:
    add(hub)
    assert Reader(hub, None)().layer_count == CONFIG["num_hidden_layers"]
