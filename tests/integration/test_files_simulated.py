"""A model of a hub on simulated devices: the real LaunchSpec, and nothing on the disk."""

from pathlib import Path

import pytest

from tests.fakes.hub import running_hub
from tests.harness import Platform

pytestmark = [pytest.mark.integration, pytest.mark.timeout(200)]
CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 4096,
    "vocab_size": 1000,
    "torch_dtype": "bfloat16",
}


def test_a_simulated_worker_shows_the_launch_and_fetches_nothing(tmp_path: Path) -> None:
    with running_hub() as hub:
        hub.add("org/name", {"config.json": CONFIG})
        with Platform(tmp_path, simulate="1x910B3-64G", env={"HF_ENDPOINT": hub.url}) as platform:
            platform.deploy("m", source="huggingface:org/name", source_revision="v1.0", backend="vllm_ascend")
            platform.wait_ready("m")
            (instance,) = platform.instances("m")
            assert platform.api.get("/api/v1/files").json()["items"] == []
    (path,) = [each for each in instance["launch"]["argv"] if "models--org--name" in each]
    assert path.startswith(str(tmp_path / "data" / "models"))
