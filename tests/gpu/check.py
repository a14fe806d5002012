"""`make gpu-check`: everything that a machine without a GPU cannot prove, in ten minutes.

Run it inside the image for GPUs, from the project's folder. It builds plans of a repository's
graphs, holds the TensorRT engine to ONNX Runtime in FP32 on real sentences, measures it, writes a
JSON report, and ends with 0 only if every check passed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from export.plans.folder import update_plans
from serving.bundle import Bundle, find_bundle
from serving.engines.gpu.cuda import Cuda
from serving.engines.gpu.machine import Machine, find_machine
from serving.engines.gpu.plans import PlanFolder, load_plans
from serving.engines.gpu.shapes import DEFAULT_SHAPES, Shapes
from serving.engines.gpu.tensorrt import TensorRtDevice, TensorRtEngine
from serving.errors import DragomanError
from serving.lines import read_lines
from tests.gpu import figures
from tests.gpu.ctranslate2 import ctranslate2_throughput

SENTENCES = Path(__file__).with_name("sentences.en.txt")


def main(arguments: list[str] | None = None) -> int:
    """Run all checks on this machine's GPU; 0 if all passed, 2 if there is none to run on."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        trt, machine = find_machine(options.device)
    except DragomanError as error:
        print(f"gpu-check: skipped: {error}", file=sys.stderr)
        return 2
    cudart = importlib.import_module("cuda.bindings.runtime")
    report = check(options, trt, cudart, machine)
    options.report.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    failed = [name for name, part in report.items() if not part.get("passed", True)]
    verdict = f"FAILED: {', '.join(failed)}" if failed else "all passed"
    print(f"gpu-check: {verdict}; report in {options.report}", file=sys.stderr)
    return 1 if failed else 0


def check(
    options: argparse.Namespace, trt: Any, cudart: Any, machine: Machine
) -> dict[str, dict[str, Any]]:
    """All checks by name, with their figures and whether they passed."""
    bundle = Bundle.open(find_bundle(options.repository))
    shapes = Shapes.load(options.shapes) if options.shapes else DEFAULT_SHAPES
    folder = PlanFolder.of(bundle.path, options.plans)
    text = bundle.text_processor()
    sources = [ids for ids in map(text.encode, read_lines(options.text)) if ids]
    report: dict[str, dict[str, Any]] = {
        "machine": {
            "tensorrt": machine.tensorrt,
            "gpu": machine.gpu,
            "capability": machine.capability,
            "python": platform.python_version(),
            "sentences": len(sources),
        }
    }

    def part(name: str, work: Callable[[], dict[str, Any]]) -> None:
        print(f"gpu-check: {name}", file=sys.stderr, flush=True)
        start = time.perf_counter()
        try:
            found = work()
        except Exception as error:  # the report says what the others found
            found = {"passed": False, "error": f"{type(error).__name__}: {error}"}
        report[name] = {**found, "seconds": time.perf_counter() - start}

    part("compile", lambda: _compile(trt, machine, bundle, folder, shapes))
    cuda = Cuda(cudart, options.device)
    _, plans = load_plans(bundle, machine, options.plans)
    devices = [
        TensorRtDevice(trt, cuda, bundle.spec, shapes, plans, graphs) for graphs in (True, False)
    ]
    engine, plain = (TensorRtEngine(device, bundle.spec) for device in devices)
    reference = bundle.engine()
    part("log-probabilities", lambda: figures.log_probabilities(reference, engine, sources))
    part("translations", lambda: figures.translations(reference, engine, sources))
    part("company", lambda: figures.company(engine, sources))
    part("CUDA graphs", lambda: figures.replay(plain, engine, sources))
    part("steps with CUDA graphs", lambda: figures.step_times(devices[0], cuda.wait))
    part("steps without CUDA graphs", lambda: figures.step_times(devices[1], cuda.wait))
    many = sources * max(1, options.throughput_sentences // len(sources))
    for beam_size in (1, 4):
        name = f"throughput, beam {beam_size}"
        part(name, partial(figures.throughput, engine, many, beam_size))
        part(
            f"CTranslate2, beam {beam_size}",
            partial(ctranslate2_throughput, options.checkpoint, many, beam_size, options.device),
        )
    return report


def _compile(
    trt: Any, machine: Machine, bundle: Bundle, folder: PlanFolder, shapes: Shapes
) -> dict[str, Any]:
    said: list[str] = []

    def say(message: str) -> None:
        said.append(message)
        print(message, file=sys.stderr, flush=True)

    update_plans(trt, machine, bundle, folder, shapes, say)
    return {"plans": said, "passed": True}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make gpu-check", description=__doc__)
    repository = Path("model_repository")
    parser.add_argument("--repository", type=Path, default=repository, help="whose model to check")
    parser.add_argument("--text", type=Path, default=SENTENCES, help="source sentences")
    parser.add_argument("--shapes", type=Path, help="see dragoman compile --help")
    parser.add_argument("--plans", type=Path, help="see dragoman compile --help")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU")
    parser.add_argument("--report", type=Path, default=Path("gpu-check.json"))
    parser.add_argument(
        "--checkpoint",
        type=Path,
        help="the model's checkpoint, for CTranslate2 in float16 to be measured beside it",
    )
    parser.add_argument(
        "--throughput-sentences", type=int, default=2000, help="sentences to measure throughput on"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
