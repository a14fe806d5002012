"""`dragoman compile` without a GPU: TensorRT-RTX builds, for a GPU that is made up.

As a program, for tests that kill it: `python -m tests.parity.compiling REPOSITORY [OPTION...]`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from export.commands.compile import compile_for
from export.onnx_graphs import Graphs
from serving import cli
from serving.bundle import GPU_DECODER_STEP, GPU_ENCODER, SPEC, Bundle, checksum
from serving.engines.gpu.machine import Machine, import_tensorrt
from serving.engines.gpu.plans import Origin, load_plans, origins
from serving.engines.gpu.shapes import EncoderShape, Shapes, StepPlan

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "model_repository" / "translator" / "1"
MACHINE = Machine(os.environ.get("TENSORRT", "11.4.0"), "8.9", "NVIDIA L4")
"""The version is another one for a process that is told so."""

SHAPES = Shapes(
    encoder=(EncoderShape(1, 8), EncoderShape(2, 8)),
    step=(StepPlan(2, 8, (1, 2)), StepPlan(4, 8, (2,))),
)


def rtx() -> ModuleType:
    """TensorRT's interface, by a compiler that needs no GPU."""
    return import_tensorrt("tensorrt_rtx")


def write_bundle(folder: Path, graphs: Graphs) -> Path:
    """A bundle with these graphs for GPUs; its other files are the shipped model's."""
    shutil.copytree(SHIPPED, folder, ignore=shutil.ignore_patterns("gpu"))
    (folder / "gpu").mkdir()
    specification = json.loads((folder / SPEC).read_text())
    for name, made in ((GPU_ENCODER, graphs.encoder), (GPU_DECODER_STEP, graphs.decoder_step)):
        content = made.SerializeToString()
        (folder / name).write_bytes(content)
        specification["sha256"][name] = checksum(content)
    (folder / SPEC).write_text(json.dumps(specification))
    return folder


def remove_gpu_graphs(bundle: Path) -> None:
    """As an export without `--gpu` leaves a bundle."""
    shutil.rmtree(bundle / "gpu")
    specification = json.loads((bundle / SPEC).read_text())
    sums = specification["sha256"]
    specification["sha256"] = {n: s for n, s in sums.items() if not n.startswith("gpu/")}
    (bundle / SPEC).write_text(json.dumps(specification))


def wanted(bundle: Path, machine: Machine = MACHINE) -> dict[str, Origin]:
    """What each plan of `SHAPES` is to be built of and for."""
    return origins(Bundle.open(bundle), machine, SHAPES)


def loaded(bundle: Path, machine: Machine = MACHINE) -> dict[str, bytes]:
    """All plans, as an engine reads them."""
    return load_plans(Bundle.open(bundle), machine)[1]


def compile_here(words: Sequence[str], machine: Machine = MACHINE) -> int:
    """Run the command."""
    return compile_for(cli.parse(["compile", *words]), rtx(), machine)


if __name__ == "__main__":
    raise SystemExit(compile_here(sys.argv[1:]))
