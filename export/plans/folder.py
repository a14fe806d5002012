"""A folder of plans, brought up to date: what is stale is built, what is not asked for removed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

from export.plans.builder import build_plan
from export.plans.errors import CompileError
from export.plans.lock import sole_compile
from serving.atomic import replacing
from serving.bundle import Bundle, checksum
from serving.engines.gpu.machine import Machine
from serving.engines.gpu.plans import SHAPES, Origin, PlanFolder, graph_of, origins
from serving.engines.gpu.shapes import Shapes
from serving.errors import DragomanError

TIMINGS = "timings.cache"
"""What TensorRT measured, for the next build."""

PARTIALS = ".*.partial"
"""What killed compiles leave behind."""


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
    wanted = origins(bundle, machine, shapes)
    if _is_current(folder, wanted, shapes):  # the folder need not be writable then
        for name in wanted:
            say(f"{name}: current")
        return
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
        with sole_compile(folder.path, say):
            for partial in folder.path.glob(PARTIALS):
                partial.unlink()
            for name, origin in wanted.items():
                update_plan(trt, bundle.path / graph_of(name), folder, name, origin, say)
            with replacing(folder.path / SHAPES) as stream:
                stream.write(shapes.to_json().encode())
            for name in _others(folder, wanted):
                say(f"{name}: removed")
                folder.record_file(name).unlink(missing_ok=True)
                folder.plan_file(name).unlink()
    except OSError as error:
        raise DragomanError(
            f"cannot write plans to {folder.path}: {error}; name another folder with --plans"
        ) from error


def _is_current(folder: PlanFolder, wanted: Mapping[str, Origin], shapes: Shapes) -> bool:
    """Whether there is nothing to build and nothing to remove."""
    if folder.saved_shapes() != shapes or _others(folder, wanted):
        return False
    if any(folder.path.glob(PARTIALS)):
        return False
    return not any(folder.fault(name, origin) for name, origin in wanted.items())


def _others(folder: PlanFolder, wanted: Mapping[str, Origin]) -> list[str]:
    """Plans of shapes that are not asked for."""
    plans = folder.path.glob("decoder_step.*.plan")
    return sorted(plan.stem for plan in plans if plan.stem not in wanted)


def update_plan(
    trt: ModuleType,
    file: Path,
    folder: PlanFolder,
    name: str,
    origin: Origin,
    say: Callable[[str], None],
) -> None:
    """Leave one current plan of a graph's file; whoever calls this holds the folder."""
    fault = folder.fault(name, origin)
    if fault is None:
        say(f"{name}: current")
        return
    say(f"{name}: building, for {fault}")
    timings = folder.path / TIMINGS
    start = time.perf_counter()
    earlier = timings.read_bytes() if timings.exists() else b""
    graph = file.read_bytes()
    if checksum(graph) != origin.graph:
        raise CompileError(f"{file} was exported anew meanwhile; run this again")
    try:
        plan = build_plan(trt, graph, origin.axes, earlier, name)
    except CompileError as error:
        raise CompileError(f"{file}, plan {name}: {error}") from error
    folder.write(name, plan.content, origin, plan.precision)
    with replacing(timings) as stream:
        stream.write(plan.timings)
    seconds, megabytes = time.perf_counter() - start, len(plan.content) / 1e6
    say(f"{name}: {plan.precision}, {seconds:.1f} s, {megabytes:.1f} MB")
