"""From a bundle and its plans to an engine on a GPU."""

from __future__ import annotations

import importlib
from pathlib import Path

from serving.bundle import Bundle
from serving.engines.gpu.cuda import Cuda
from serving.engines.gpu.machine import find_machine
from serving.engines.gpu.plans import load_plans
from serving.engines.gpu.tensorrt import TensorRtDevice, TensorRtEngine


def tensorrt_engine(bundle: Bundle, plans: Path | None = None, gpu: int = 0) -> TensorRtEngine:
    """The engine on this machine's GPU.

    Args:
        plans: their folder; None for the bundle's own.
        gpu: which, from 0.

    Raises:
        DragomanError: there is no GPU or no TensorRT, a plan is missing or stale, or there is too
            little memory; the message says what mends it.
    """
    trt, machine = find_machine(gpu)
    shapes, contents = load_plans(bundle, machine, plans)
    cuda = Cuda(importlib.import_module("cuda.bindings.runtime"), gpu)
    return TensorRtEngine(TensorRtDevice(trt, cuda, bundle.spec, shapes, contents), bundle.spec)
