"""From a bundle and its plans to an engine on a GPU."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from serving.bundle import Bundle
from serving.engines.gpu.cuda import Cuda
from serving.engines.gpu.machine import Machine, find_machine
from serving.engines.gpu.plans import Origin, PlanFolder, axes_of, graph_of
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
    cuda = Cuda(importlib.import_module("cuda.bindings.runtime"), gpu)
    device = load_device(trt, cuda, machine, bundle, PlanFolder.of(bundle.path, plans))
    return TensorRtEngine(device, bundle.spec)


def load_device(
    trt: Any,
    cuda: Cuda,
    machine: Machine,
    bundle: Bundle,
    folder: PlanFolder,
    graphs: bool = True,
) -> TensorRtDevice:
    """All plans of a folder, each whole and current, on a GPU; see `TensorRtDevice`."""
    shapes = folder.shapes()
    plans = {}
    for name, axes in axes_of(shapes).items():
        origin = Origin(bundle.checksums[graph_of(name)], machine, axes)
        plans[name] = folder.load(name, origin)
    return TensorRtDevice(trt, cuda, bundle.spec, shapes, plans, graphs)
