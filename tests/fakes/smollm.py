"""Where tests find the small real model; fetched once per machine."""

import os
from pathlib import Path

from gpustack_lite.hub.demo import fetch_demo_model
from gpustack_lite.ports import Ports


def cache_folder() -> Path:
    given = os.environ.get("GPUSTACK_LITE_TEST_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "gpustack-lite-tests"


def smollm_path() -> Path:
    return fetch_demo_model(cache_folder(), Ports())
