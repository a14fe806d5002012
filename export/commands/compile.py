"""`dragoman compile`: TensorRT plans of a repository's graphs, on the GPU that will run them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType

from export.plans.folder import update_plans
from export.plans.native import native_models, update_native
from serving.bundle import GPU_ENCODER, Bundle, find_bundle
from serving.engines.gpu.machine import Machine, find_machine
from serving.engines.gpu.plans import PlanFolder
from serving.engines.gpu.shapes import DEFAULT_SHAPES, Shapes

EXAMPLES = """\
examples:
  dragoman compile model_repository
      builds what is missing or stale in model_repository/translator/1/gpu/plans

  dragoman compile native
      also builds encoder/1/model.plan and decoder_step/1/model.plan of a native layout

  dragoman compile model_repository --plans /plans
      for a repository that is mounted read-only; serve it with the same folder

  dragoman compile model_repository --shapes shapes.json --device 1
      for shapes of your own, on the second GPU; a first shapes.json is left beside the plans

A plan fits one version of TensorRT and one kind of GPU: run this where the model will be served,
with the same image. What is current is left alone, so it may run before every start.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "repository",
        type=Path,
        help="a Triton model repository, or the folder of an exported model",
    )
    parser.add_argument(
        "--shapes",
        type=Path,
        help="JSON file of the sentences, beams and lengths to build for (default: up to 32 "
        "sentences of beam 4, and beam 8)",
    )
    parser.add_argument(
        "--plans",
        type=Path,
        help="folder for the plans of this one model (default: gpu/plans beside its graphs)",
    )
    parser.add_argument(
        "--device", type=int, default=0, help="number of the GPU (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Build what is missing or stale.

    Raises:
        DragomanError: there is no GPU, no TensorRT, no graph for GPUs, or a plan cannot be built
            or written.
    """
    return compile_for(arguments, *find_machine(arguments.device))


def compile_for(arguments: argparse.Namespace, trt: ModuleType, machine: Machine) -> int:
    """`run` on a known machine.

    Raises:
        DragomanError: as `run`.
    """
    shapes = Shapes.load(arguments.shapes) if arguments.shapes else DEFAULT_SHAPES
    bundle = Bundle.open(find_bundle(arguments.repository))
    folder = PlanFolder.of(bundle.path, arguments.plans)
    _say(f"TensorRT {machine.tensorrt}, {machine.gpu} (compute capability {machine.capability})")
    native = native_models(arguments.repository)
    if GPU_ENCODER in bundle.checksums or not native:
        update_plans(trt, machine, bundle, folder, shapes, _say)
    update_native(trt, machine, arguments.repository, _say)
    return 0


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
