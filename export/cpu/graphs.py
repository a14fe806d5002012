"""Encoder and decoder step as ONNX Runtime runs them fastest on CPUs."""

from __future__ import annotations

from typing import Any

import onnx
import torch
from torch.export import Dim

from export.cpu.encoder import PackedEncoder
from export.cpu.precision import Precision
from export.cpu.step import RowStep
from export.onnx_graphs import Graphs, check_exportable, example_edits
from export.recovery import note_config
from export.trace import trace
from model.transformer import Transformer
from serving.engines.lists import MEMBERS
from serving.engines.names import EDITS, FOUND, cache_names, cross_names
from serving.options import MAX_BEAM_SIZE

STEP_INPUTS = ("token", "position", "grid", "cell", "write", "bias", "lengths")
LISTED_INPUTS = ("shortlist", "own")
ENCODER_INPUTS = ("source", "position", "grid", "cell", "lengths")


def cpu_graphs(transformer: Transformer, precision: Precision, listed: bool = False) -> Graphs:
    """Trace both graphs; `transformer` must be in evaluation mode.

    Args:
        precision: of their linear layers.
        listed: whether the step chooses from shortlists.

    Raises:
        ConfigError: its keys are of another width than its values.
    """
    check_exportable(transformer)
    with torch.no_grad():
        return Graphs(_encoder(transformer, precision), _step(transformer, precision, listed))


def _encoder(transformer: Transformer, precision: Precision) -> onnx.ModelProto:
    tokens, (batch, longest) = Dim("M"), (Dim("B"), Dim("S"))
    inputs = {
        "source": torch.arange(3, 10),
        "position": torch.tensor([0, 1, 2, 3, 4, 0, 1]),
        "grid": torch.tensor([[0, 1, 2, 3, 4], [5, 6, 0, 0, 0]]),
        "cell": torch.tensor([0, 1, 2, 3, 4, 5, 6]),
        "lengths": torch.tensor([5, 2], dtype=torch.int32),
    }
    dynamic = {
        "source": {0: tokens},
        "position": {0: tokens},
        "grid": {0: batch, 1: longest},
        "cell": {0: tokens},
        "lengths": {0: batch},
    }
    names = cross_names(transformer.config.decoder_layers)
    module = PackedEncoder(transformer, precision)
    graph = trace(module, inputs, dynamic, ENCODER_INPUTS, names)
    note_config(graph, transformer.config)
    return graph


def _step(transformer: Transformer, precision: Precision, listed: bool) -> onnx.ModelProto:
    config = transformer.config
    layers, heads, width = config.decoder_layers, config.heads, config.d_head
    axes = ("N", "B", "K", "L", "S", "NH", "M")
    rows, batch, beams, columns, longest, writes, edits = map(Dim, axes)
    inputs: dict[str, Any] = {
        "token": torch.tensor([3, 4, 5, 6, 7]),
        "position": torch.tensor([2, 2, 2, 1, 1]),
        "grid": torch.tensor([[0, 1, 2], [3, 4, 0]]),
        "cell": torch.tensor([0, 1, 2, 3, 4]),
        "write": torch.ones(5 * heads, 3, dtype=torch.int64),
        "bias": torch.zeros(2, 1, 3, 7),
        "lengths": torch.tensor([6, 2], dtype=torch.int32),
        **dict(zip(EDITS, example_edits(5, 3), strict=True)),
        "cross": [torch.randn(2, heads, 6, width) for _ in range(2 * layers)],
        "cache": [torch.randn(2, heads, 7, width) for _ in range(2 * layers)],
    }
    dynamic: dict[str, Any] = {
        "token": {0: rows},
        "position": {0: rows},
        "grid": {0: batch, 1: beams},
        "cell": {0: rows},
        "write": {0: writes},
        "bias": {0: batch, 2: beams, 3: columns},
        "lengths": {0: batch},
        **{name: {0: rows, 1: edits} for name in EDITS},
        "cross": [{0: batch, 2: longest}] * (2 * layers),
        "cache": [{0: batch, 2: columns}] * (2 * layers),
    }
    names = [*STEP_INPUTS, *EDITS, *cross_names(layers), *cache_names(layers, "past")]
    if listed:
        places = torch.arange(2 * 24 * MEMBERS).view(2, 24, MEMBERS)
        inputs |= {"shortlist": torch.zeros(400, dtype=torch.int64), "own": places}
        dynamic |= {"shortlist": {0: Dim("W")}, "own": {0: batch, 1: Dim("G")}}
        names += LISTED_INPUTS
    outputs = [*FOUND, *cache_names(layers, "present")]
    module = RowStep(transformer, precision, 2 * MAX_BEAM_SIZE, listed)
    return trace(module, inputs, dynamic, names, outputs)
