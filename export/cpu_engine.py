"""A model in memory as the engine that serves it on CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from export.cpu.calibration import calibrate
from export.cpu.graphs import cpu_graphs
from export.cpu.precision import Fp32, Int8, Precision
from export.onnx_graphs import Graphs
from model.engine import engine_spec
from model.transformer import Transformer
from serving.engine import EngineSpec
from serving.engines.onnx import OnnxEngine
from serving.shortlist import Shortlist

PrecisionName = Literal["fp32", "int8"]


def precise_graphs(
    transformer: Transformer,
    precision: PrecisionName,
    calibration: Sequence[Sequence[int]],
    listed: bool = False,
) -> Graphs:
    """Both graphs in that precision; `calibration` are source ids, for INT8 alone.

    A `listed` step chooses from shortlists.
    """
    layers: Precision = Fp32()
    if precision == "int8":
        layers = Int8(calibrate(transformer, calibration))
    return cpu_graphs(transformer, layers, listed)


def cpu_engine(
    transformer: Transformer,
    precision: PrecisionName,
    calibration: Sequence[Sequence[int]],
    threads: int = 0,
    workers: int = 1,
    shortlist: Shortlist | None = None,
) -> OnnxEngine:
    """The engine of a model in evaluation mode; `threads` 0 is one a core."""
    graphs = precise_graphs(transformer, precision, calibration, listed=shortlist is not None)
    return open_graphs(graphs, engine_spec(transformer), threads, workers, shortlist)


def open_graphs(
    graphs: Graphs,
    spec: EngineSpec,
    threads: int = 0,
    workers: int = 1,
    shortlist: Shortlist | None = None,
) -> OnnxEngine:
    """The engine of graphs in memory; see `OnnxEngine`."""
    contents = (graphs.encoder.SerializeToString(), graphs.decoder_step.SerializeToString())
    return OnnxEngine(*contents, spec, threads, workers, shortlist=shortlist)
