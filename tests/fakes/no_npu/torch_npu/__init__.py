"""Stands in for torch_npu where there is no CANN: enough for vLLM-Ascend to be imported and asked about its flags."""

import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any
from unittest.mock import MagicMock

import torch

__version__ = "2.10.0.post4"
_OURS = ("torch_npu.", "torchair", "torch.npu.")


class _Anything(types.ModuleType):
    """Every name that is asked of it is there."""

    __path__: list[str] = []  # noqa: RUF012  # a package's, as import wants it

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = MagicMock(name=f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.startswith(_OURS) else None

    def create_module(self, spec: Any) -> types.ModuleType:
        return _Anything(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return MagicMock(name=f"torch_npu.{name}")


class Stream: ...


class Event: ...


class NPUGraph: ...


def _card() -> types.ModuleType:
    made: Any = _Anything("torch.npu")
    made.Stream, made.Event, made.NPUGraph = Stream, Event, NPUGraph
    made.is_available, made.device_count, made.current_device = lambda: True, lambda: 8, lambda: 0
    made.get_device_name = lambda *_: "Ascend910B3"
    made.mem_get_info = lambda *_: (60 << 30, 64 << 30)
    return made  # type: ignore[no-any-return]


sys.meta_path.insert(0, _Finder())
npu = _card()
sys.modules["torch.npu"] = sys.modules["torch_npu.npu"] = npu
torch.npu = npu
torch.utils.rename_privateuse1_backend("npu")
torch.distributed.is_hccl_available = lambda: True
