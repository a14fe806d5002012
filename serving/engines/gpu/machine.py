"""What this machine has: TensorRT and a GPU, which decide what plans it can run."""

from __future__ import annotations

import dataclasses
import importlib
from types import ModuleType
from typing import Any

from serving.engines.gpu.cuda import error_text
from serving.errors import DragomanError


@dataclasses.dataclass(frozen=True)
class Machine:
    """What a plan fits: one version of TensorRT and one kind of GPU.

    Attributes:
        tensorrt: its version.
        capability: the GPU's compute capability, such as 8.9.
        gpu: the GPU's name; told, not compared, for a plan fits all GPUs of its capability.
    """

    tensorrt: str
    capability: str
    gpu: str


def find_machine(device: int) -> tuple[ModuleType, Machine]:
    """Make a GPU the current one; returns TensorRT's module and what both are.

    The GPU is looked for first: without a driver, TensorRT may crash instead of raising.

    Raises:
        DragomanError: there is no such GPU, or TensorRT is missing or too old.
    """
    capability, gpu = _use_gpu(device)
    trt = import_tensorrt("tensorrt")
    return trt, Machine(trt.__version__, capability, gpu)


def import_tensorrt(name: str) -> ModuleType:
    """TensorRT's Python module, or one with the same interface.

    Raises:
        DragomanError: it is not installed, or too old to write to caches in place.
    """
    try:
        trt = importlib.import_module(name)
    except (ImportError, OSError) as error:  # OSError: its own libraries are missing
        raise DragomanError(
            f"TensorRT is not installed here ({error}); run this in the image for GPUs"
        ) from error
    if not hasattr(trt.INetworkDefinition, "add_kv_cache_update"):
        raise DragomanError(
            f"TensorRT {trt.__version__} has no KVCacheUpdate, which the decoder step needs; "
            "use TensorRT 10.15 or newer"
        )
    return trt


def _use_gpu(device: int) -> tuple[str, str]:
    """Compute capability and name of the GPU, which is the current one from now on."""
    try:
        cudart: Any = importlib.import_module("cuda.bindings.runtime")
    except ImportError as error:
        raise DragomanError(
            f"the package cuda-bindings is not installed here ({error}); "
            "run this in the image for GPUs"
        ) from error
    status, count = cudart.cudaGetDeviceCount()
    if status != cudart.cudaError_t.cudaSuccess:
        raise DragomanError(
            f"no GPU can be used here: {error_text(cudart, status)}. Plans are built and run on a "
            "GPU of NVIDIA's; a container sees it when it is started with --gpus all"
        )
    if not 0 <= device < count:
        raise DragomanError(f"there is no GPU {device}; this machine has {count}, counted from 0")
    _check(cudart, cudart.cudaSetDevice(device)[0])
    status, properties = cudart.cudaGetDeviceProperties(device)
    _check(cudart, status)
    return f"{properties.major}.{properties.minor}", properties.name.decode().rstrip("\0")


def _check(cudart: Any, status: Any) -> None:
    if status != cudart.cudaError_t.cudaSuccess:
        raise DragomanError(f"the GPU cannot be used: {error_text(cudart, status)}")
