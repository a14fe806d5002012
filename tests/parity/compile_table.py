"""What plans of random models take to build without a GPU, and how large they are.

`python -m tests.parity.compile_table tiny base big` prints a table in Markdown.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Iterator
from typing import Any

from export.gpu.graphs import GpuPrecision, gpu_graphs
from export.plans.builder import build_plan
from model.config import ModelConfig
from model.transformer import Transformer
from serving.engines.gpu.plans import axes_of
from serving.engines.gpu.shapes import DEFAULT_SHAPES, ENCODER_PLAN
from tests.parity.compiling import rtx

PRECISIONS: tuple[GpuPrecision, ...] = ("fp16", "fp32")


@dataclasses.dataclass(frozen=True)
class Build:
    """One plan, built."""

    name: str
    precision: str
    seconds: float
    megabytes: float


def builds(precision: GpuPrecision, **config: Any) -> Iterator[Build]:
    """Every plan of the default shapes, for a model of random weights."""
    values = {"vocab_size": 8000, **config}
    graphs = gpu_graphs(Transformer(ModelConfig.from_dict(values)).eval(), precision)
    encoder, step = graphs.encoder.SerializeToString(), graphs.decoder_step.SerializeToString()
    for name, axes in axes_of(DEFAULT_SHAPES).items():
        start = time.perf_counter()
        plan = build_plan(rtx(), encoder if name == ENCODER_PLAN else step, axes)
        seconds = time.perf_counter() - start
        yield Build(name, plan.precision, seconds, len(plan.content) / 1e6)


def main(sizes: list[str]) -> None:
    """Print the table: seconds and MB of each plan, by size and precision."""
    columns = [(size, precision) for size in sizes for precision in PRECISIONS]
    rows: dict[str, list[str]] = {}
    for size, precision in columns:
        for build in builds(precision, preset=size):
            cell = f"{build.seconds:.1f} s, {build.megabytes:.0f} MB"
            rows.setdefault(build.name, []).append(cell)
    print("| plan | " + " | ".join(f"{size} {precision}" for size, precision in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name, cells in rows.items():
        print(f"| `{name}` | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
