"""Build one plan: a graph, the sizes of its axes, and a profile for each of their combinations."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from export.plans.axes import fix_axes
from export.plans.errors import CompileError, error_log
from export.plans.network import is_half, parse, profile
from export.plans.progress import progress
from serving.engines.gpu.plans import PlanAxes

if TYPE_CHECKING:
    import tensorrt as trt


@dataclasses.dataclass(frozen=True)
class BuiltPlan:
    """What a build gives.

    Attributes:
        content: the plan.
        precision: fp32 or fp16, as the graph has it.
        timings: how long TensorRT's kernels took; spares the next build measuring them again.
    """

    content: bytes
    precision: str
    timings: bytes


def build_plan(
    trt: ModuleType, graph: bytes, axes: PlanAxes, timings: bytes = b"", title: str = "plan"
) -> BuiltPlan:
    """Compile an ONNX file's content.

    Args:
        trt: TensorRT's module.
        graph: a strongly typed graph, whose inputs' variable axes have names.
        axes: the sizes of all these axes.
        timings: what an earlier build on this machine gave; ignored if it does not fit.
        title: what the progress bar says.

    Raises:
        CompileError: the graph cannot be compiled; says why and where.
    """
    log = error_log(trt)
    log.messages.clear()
    builder = trt.Builder(log)
    network = parse(trt, builder, log, fix_axes(graph, axes.fixed))
    config = builder.create_builder_config()
    for sizes in axes.profiles:
        config.add_optimization_profile(profile(builder, network, sizes))
    _use_timings(config, timings)
    log.messages.clear()  # timings of another machine are refused with an error
    with progress(trt, config, title), _interruptible():
        content = builder.build_serialized_network(network, config)
    if content is None:
        raise CompileError("TensorRT cannot build the plan:\n  " + "\n  ".join(log.messages))
    cache = config.get_timing_cache()
    measured = b"" if cache is None else bytes(cache.serialize())
    return BuiltPlan(bytes(content), "fp16" if is_half(trt, network) else "fp32", measured)


def _use_timings(config: trt.IBuilderConfig, timings: bytes) -> None:
    """Begin with earlier timings, or with none if they are of another machine."""
    cache: trt.ITimingCache | None = config.create_timing_cache(timings)
    if cache is None or not config.set_timing_cache(cache, ignore_mismatch=False):
        config.set_timing_cache(config.create_timing_cache(b""), ignore_mismatch=False)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the process at once: a build is one long call and Python would wait for it.

    Nothing is lost, for files appear whole or not at all.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
