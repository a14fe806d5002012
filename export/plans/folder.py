"""A folder of plans, brought up to date: what is stale is built, what is not asked for removed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from export.plans.builder import build_plan
from export.plans.errors import CompileError
from export.plans.lock import sole_compile
from serving.atomic import replacing
from serving.bundle import GPU_DECODER_STEP, GPU_ENCODER, Bundle
from serving.engines.gpu.machine import Machine
from serving.engines.gpu.plans import SHAPES, Origin, PlanFolder, axes_of, graph_of
from serving.engines.gpu.shapes import Shapes
from serving.errors import DragomanError

TIMINGS = "timings.cache"


def update_plans(
    trt: ModuleType,
    machine: Machine,
    bundle: Bundle,
    folder: PlanFolder,
    shapes: Shapes,
    say: Callable[[str], None],
) -> None:
    """Leave a current plan for each of these shapes, and no other.

    Killed at any moment, it leaves only plans that are whole; the next run does the rest.

    Args:
        trt: TensorRT's module.
        machine: what it builds for.
        bundle: whose graphs are compiled.
        folder: where the plans lie; made if need be.
        shapes: which plans there are to be.
        say: told of each plan.

    Raises:
        DragomanError: the bundle has no graphs for GPUs, one cannot be compiled, or the folder
            cannot be written.
    """
    for graph in (GPU_ENCODER, GPU_DECODER_STEP):
        if graph not in bundle.checksums:
            raise DragomanError(
                f"{bundle.path} has no graphs for GPUs ({graph} is missing); export it with: "
                f"dragoman export CHECKPOINT {bundle.path} --gpu fp16"
            )
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
        with sole_compile(folder.path, say):
            _sweep(folder.path)
            for name, axes in axes_of(shapes).items():
                origin = Origin(bundle.checksums[graph_of(name)], machine, axes)
                _update(trt, bundle.path, folder, name, origin, say)
            with replacing(folder.path / SHAPES) as stream:
                stream.write(shapes.to_json().encode())
            _remove_others(folder, shapes, say)
    except OSError as error:
        raise DragomanError(
            f"cannot write plans to {folder.path}: {error}; name another folder with --plans"
        ) from error


def _update(
    trt: ModuleType,
    bundle: Path,
    folder: PlanFolder,
    name: str,
    origin: Origin,
    say: Callable[[str], None],
) -> None:
    fault = folder.fault(name, origin)
    if fault is None:
        say(f"{name}: current")
        return
    say(f"{name}: building, for {fault}")
    timings = folder.path / TIMINGS
    start = time.perf_counter()
    earlier = timings.read_bytes() if timings.exists() else b""
    graph = (bundle / graph_of(name)).read_bytes()
    try:
        plan = build_plan(trt, graph, origin.axes, earlier, name)
    except CompileError as error:
        raise CompileError(f"{bundle / graph_of(name)}, plan {name}: {error}") from error
    folder.write(name, plan.content, origin, plan.precision)
    with replacing(timings) as stream:
        stream.write(plan.timings)
    seconds, megabytes = time.perf_counter() - start, len(plan.content) / 1e6
    say(f"{name}: {plan.precision}, {seconds:.1f} s, {megabytes:.1f} MB")


def _sweep(folder: Path) -> None:
    """Remove what killed compiles left behind."""
    for partial in folder.glob(".*.partial"):
        partial.unlink()


def _remove_others(folder: PlanFolder, shapes: Shapes, say: Callable[[str], None]) -> None:
    """Remove the plans of shapes that are no longer asked for."""
    wanted = axes_of(shapes)
    for plan in folder.path.glob("decoder_step.*.plan"):
        if plan.stem not in wanted:
            say(f"{plan.stem}: removed")
            folder.record_file(plan.stem).unlink(missing_ok=True)
            plan.unlink()
