"""gpustack-lite: model serving for Ascend NPUs, GPUs and CPUs."""

__version__ = "0.1.0"
