"""Plans of the native layout, which Triton's own TensorRT backend serves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from export.plans.folder import update_plan
from export.plans.lock import sole_compile
from serving.bundle import checksum
from serving.engines.gpu.machine import Machine
from serving.engines.gpu.plans import Origin, PlanAxes, PlanFolder
from serving.errors import ConfigError, DragomanError

PROFILE = "profile.json"
GRAPH = "model.onnx"
PLAN = "model"
"""Triton's name of a plan's file, without its ending."""


def native_models(repository: Path) -> list[Path]:
    """The version folders of models that are to be compiled."""
    return sorted(path.parent for path in repository.glob(f"*/*/{PROFILE}"))


def update_native(
    trt: ModuleType,
    machine: Machine,
    repository: Path,
    say: Callable[[str], None],
) -> None:
    """Leave a current plan in each of a repository's native models.

    Args:
        trt: TensorRT's module.
        machine: what it builds for.
        repository: of models that `dragoman export --native tensorrt` wrote.
        say: told of each plan.

    Raises:
        DragomanError: a graph cannot be compiled, or a folder cannot be written.
    """
    for folder in native_models(repository):
        plans = PlanFolder(repository, folder)
        origin = Origin(_graph(folder), machine, PlanAxes({}, (_profile(folder),)))
        name = folder.parent.name
        if plans.fault(PLAN, origin) is None:
            say(f"{name}: current")
            continue
        try:
            with sole_compile(folder, say):
                update_plan(trt, folder / GRAPH, plans, PLAN, origin, say)
        except OSError as error:
            raise DragomanError(f"cannot write the plan of {name} to {folder}: {error}") from error


def _graph(folder: Path) -> str:
    try:
        return checksum((folder / GRAPH).read_bytes())
    except OSError as error:
        raise ConfigError(f"{folder / GRAPH} cannot be read: {error}") from error


def _profile(folder: Path) -> dict[str, int | list[int]]:
    try:
        found: dict[str, int | list[int]] = json.loads((folder / PROFILE).read_text("utf-8"))
    except ValueError as error:
        raise ConfigError(f"{folder / PROFILE} is damaged: {error}; export again") from error
    return found
