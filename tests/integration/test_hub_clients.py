"""The hubs' own clients against our fake: what it says is what they expect, so what ours reads is what they would."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpustack_lite.hub.hubs import hubs_of
from gpustack_lite.hub.repository import Repositories
from gpustack_lite.hub.sources import repository
from gpustack_lite.ports import Ports
from gpustack_lite.settings import load
from tests.fakes.hub import Hub, running_hub

pytestmark = pytest.mark.integration
FILES = {"config.json": b"{}", "model.safetensors": bytes(range(256)) * 64, "sub/more.json": b"[]"}
HUGGING_FACE = """
from huggingface_hub import HfApi, snapshot_download
api = HfApi()
commit = api.model_info("org/name").sha
tree = api.list_repo_tree("org/name", recursive=True)
files = {each.path: [each.size, each.lfs and each.lfs.sha256] for each in tree}
folder = snapshot_download("org/name", cache_dir=sys.argv[1])
"""
MODELSCOPE = """
from modelscope_hub.api import HubApi
api = HubApi()
commit = None
files = {each.path: [each.size, each.sha256] for each in api.list_repo_files("org/name", repo_type="model")}
folder = str(api.download_repo("org/name", repo_type="model", cache_dir=sys.argv[1]))
"""
TELL = 'print("told", json.dumps([commit, files, folder]))'


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running_hub() as running:
        running.add("org/name", FILES, token="secret-token")
        yield running


def variables(hub: Hub, home: Path) -> dict[str, str]:
    tokens = {"HF_TOKEN": "secret-token", "MODELSCOPE_API_TOKEN": "secret-token"}
    return {"HF_ENDPOINT": hub.url, "MODELSCOPE_ENDPOINT": hub.url, "HF_HOME": str(home), "HOME": str(home), **tokens}


def told(program: str, hub: Hub, folder: Path) -> Any:
    code = f"import json, sys\n{program}\n{TELL}"
    env = os.environ | variables(hub, folder) | {"MODELSCOPE_CACHE": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], env=env, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rpartition("told ")[2])


@pytest.mark.parametrize(
    ("source", "program"),
    [
        pytest.param("huggingface:org/name", HUGGING_FACE, id="huggingface_hub"),
        pytest.param("modelscope:org/name", MODELSCOPE, id="modelscope_hub"),
    ],
)
def test_the_client_of_the_hub_sees_what_we_see(hub: Hub, tmp_path: Path, source: str, program: str) -> None:
    commit, files, folder = told(program, hub, tmp_path)
    repositories = Repositories(hubs_of(load(), variables(hub, tmp_path)), Ports())
    listing = repositories.list_now(repository(source))
    repositories.close()
    assert commit in {None, listing.commit}
    assert {path: size for path, (size, _) in files.items()} == {each.path: each.size_bytes for each in listing.files}
    digests = {each.path: each.sha256 for each in listing.files}
    assert all(digests[path] == digest for path, (_, digest) in files.items() if digest)
    assert {path: (Path(folder) / path).read_bytes() for path in FILES} == FILES
