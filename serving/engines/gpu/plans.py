"""Plans on disk: which of them are current, and reading those that are.

Beside each `NAME.plan` lies a `NAME.json` that says what the plan was built of, for what and with
which content. It is written after the plan, so that whatever is killed in between leaves a plan
that nothing describes, or whose description does not fit; neither is ever used.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from serving.atomic import replacing, write_json
from serving.bundle import GPU_DECODER_STEP, GPU_ENCODER, PLANS, Bundle, checksum
from serving.engines.gpu.machine import Machine
from serving.engines.gpu.shapes import DEFAULT_SHAPES, ENCODER_PLAN, Shapes
from serving.errors import ConfigError

SHAPES = "shapes.json"
"""The shapes that a folder's plans were built for."""


@dataclasses.dataclass(frozen=True)
class PlanAxes:
    """The sizes of a graph's named axes in one plan.

    Attributes:
        fixed: those that all its profiles share.
        profiles: the others, in the order of its profiles; a size, or the least, the usual and
            the largest one.
    """

    fixed: Mapping[str, int]
    profiles: tuple[Mapping[str, int | list[int]], ...]


def axes_of(shapes: Shapes) -> dict[str, PlanAxes]:
    """The axes of every plan for these shapes, by the plan's name.

    B are sentences, K beams, S source tokens and L the columns of a cache.
    """
    encoder = tuple({"B": shape.sentences, "S": shape.length} for shape in shapes.encoder)
    axes = {ENCODER_PLAN: PlanAxes({}, encoder)}
    for plan in shapes.step:
        fixed = {"K": plan.beams, "S": plan.length, "L": plan.columns}
        axes[plan.name] = PlanAxes(fixed, tuple({"B": size} for size in plan.sentences))
    return axes


@dataclasses.dataclass(frozen=True)
class Origin:
    """What a plan is built of and for.

    Attributes:
        graph: SHA-256 of the ONNX file.
        machine: what builds and runs it.
        axes: the sizes of the graph's axes.
    """

    graph: str
    machine: Machine
    axes: PlanAxes


def graph_of(name: str) -> str:
    """The bundle's file that a plan is built of."""
    return GPU_ENCODER if name == ENCODER_PLAN else GPU_DECODER_STEP


def origins(bundle: Bundle, machine: Machine, shapes: Shapes) -> dict[str, Origin]:
    """What each plan of a bundle is to be built of and for, by the plan's name.

    Raises:
        ConfigError: the bundle has no graphs for GPUs.
    """
    for graph in (GPU_ENCODER, GPU_DECODER_STEP):
        if graph not in bundle.checksums:
            raise ConfigError(
                f"{bundle.path} has no graphs for GPUs ({graph} is missing); export it with: "
                f"dragoman export CHECKPOINT {bundle.path} --gpu fp16"
            )
    return {
        name: Origin(bundle.checksums[graph_of(name)], machine, axes)
        for name, axes in axes_of(shapes).items()
    }


def load_plans(
    bundle: Bundle, machine: Machine, path: Path | None = None
) -> tuple[Shapes, dict[str, bytes]]:
    """The shapes that a bundle was compiled for, and all plans by their names.

    Args:
        bundle: whose graphs were compiled.
        machine: what is to run the plans.
        path: the plans' folder, if it is not the bundle's.

    Raises:
        ConfigError: a plan is missing, damaged or not current; says why, and what to do.
    """
    folder = PlanFolder.of(bundle.path, path)
    shapes = folder.shapes()
    wanted = origins(bundle, machine, shapes)
    return shapes, {name: folder.load(name, origin) for name, origin in wanted.items()}


@dataclasses.dataclass(frozen=True)
class PlanFolder:
    """Where a bundle's plans lie.

    Attributes:
        bundle: the bundle's folder.
        path: the plans' folder.
    """

    bundle: Path
    path: Path

    @classmethod
    def of(cls, bundle: Path, path: Path | None = None) -> PlanFolder:
        """The folder at `path`, or the one inside the bundle."""
        return cls(bundle, path or bundle / PLANS)

    def plan_file(self, name: str) -> Path:
        """The plan itself."""
        return self.path / f"{name}.plan"

    def record_file(self, name: str) -> Path:
        """The plan's description."""
        return self.path / f"{name}.json"

    def shapes(self) -> Shapes:
        """The shapes that the plans were built for.

        Raises:
            ConfigError: no compile has ended here.
        """
        shapes = self.saved_shapes()
        if shapes is None:
            raise ConfigError(f"{self.path} holds no plans; make them with: {self.command()}")
        return shapes

    def saved_shapes(self) -> Shapes | None:
        """The same; None if they are missing or damaged."""
        try:
            return Shapes.load(self.path / SHAPES)
        except ConfigError:
            return None

    def load(self, name: str, origin: Origin) -> bytes:
        """A plan that is whole and current.

        Raises:
            ConfigError: it is not; says why, and the command that builds it.
        """
        content, fault = self._read(name, origin)
        if fault:
            file = self.plan_file(name)
            raise ConfigError(f"{file} cannot be used: {fault}; build it with: {self.command()}")
        return content

    def fault(self, name: str, origin: Origin) -> str | None:
        """Why a plan is not whole or not current; None if it is both."""
        return self._read(name, origin)[1]

    def write(self, name: str, content: bytes, origin: Origin, precision: str) -> None:
        """Write a plan, then its description; each appears whole."""
        with replacing(self.plan_file(name)) as stream:
            stream.write(content)
        values = {
            **dataclasses.asdict(origin),
            "precision": precision,
            "plan": checksum(content),
        }
        write_json(self.record_file(name), values)

    def command(self) -> str:
        """The command that builds what is missing here or not current."""
        words = ["dragoman", "compile", str(self.bundle)]
        if self.path != self.bundle / PLANS:
            words += ["--plans", str(self.path)]
        if self.saved_shapes() not in (None, DEFAULT_SHAPES):
            words += ["--shapes", str(self.path / SHAPES)]
        return shlex.join(words)

    def _read(self, name: str, origin: Origin) -> tuple[bytes, str | None]:
        try:
            record = json.loads(self.record_file(name).read_text(encoding="utf-8"))
            fault = _difference(record, origin)
            if fault:
                return b"", fault
            content = self.plan_file(name).read_bytes()
            if checksum(content) != record["plan"]:
                return b"", "its content is not what was built"
            return content, None
        except FileNotFoundError:
            return b"", "it has not been built"
        except OSError as error:
            return b"", f"it cannot be read ({error})"
        except (ValueError, KeyError, TypeError) as error:
            return b"", f"its description, {name}.json, is damaged ({error!r})"


def _difference(record: dict[str, Any], origin: Origin) -> str | None:
    """What a plan was built of or for that is otherwise now."""
    machine, now = Machine(**record["machine"]), origin.machine
    if record["graph"] != origin.graph:
        return "it was built of another export of the model"
    if machine.tensorrt != now.tensorrt:
        return f"TensorRT {machine.tensorrt} built it, and {now.tensorrt} is installed"
    if machine.capability != now.capability:
        return (
            f"it was built for compute capability {machine.capability} ({machine.gpu}), and "
            f"this GPU ({now.gpu}) has {now.capability}"
        )
    axes = PlanAxes(record["axes"]["fixed"], tuple(record["axes"]["profiles"]))
    return None if axes == origin.axes else "it was built for other shapes"
