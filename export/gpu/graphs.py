"""Encoder and decoder step as TensorRT compiles them."""

from __future__ import annotations

from typing import Any, Literal

import onnx
import torch
from torch import nn
from torch.export import Dim

from export.gpu.half import half
from export.gpu.step import BlockStep
from export.gpu.types import check_types
from export.onnx_graphs import Graphs, check_exportable, example_edits
from export.trace import trace
from model.step import EncoderGraph
from model.transformer import Transformer
from serving.engines.gpu.device import EDIT_ROOM
from serving.engines.names import EDITS, FOUND, cache_names, cross_names
from serving.options import MAX_BEAM_SIZE

GpuPrecision = Literal["fp32", "fp16"]

STEP_INPUTS = ("token", "position", "write", "lengths", "visible", *EDITS)

OPSET = 24
"""The first with TensorScatter."""


def gpu_graphs(transformer: Transformer, precision: GpuPrecision) -> Graphs:
    """Trace both graphs; `transformer` must be in evaluation mode and in FP32.

    Their axes are named: B sentences, K beams, S source tokens, L columns.

    Raises:
        ConfigError: its keys are of another width than its values.
        ProofError: a node of the graphs has another type than it should.
    """
    check_exportable(transformer)
    model = half(transformer) if precision == "fp16" else transformer
    with torch.no_grad():
        graphs = Graphs(_encoder(model), _step(model))
    for graph in (graphs.encoder, graphs.decoder_step):
        check_types(graph, precision)
    return graphs


def _encoder(transformer: Transformer) -> onnx.ModelProto:
    source = torch.ones(2, 5, dtype=torch.int32)
    inputs = {"source": source, "lengths": torch.tensor([5, 3], dtype=torch.int32)}
    dynamic = {"source": {0: Dim("B"), 1: Dim("S")}, "lengths": {0: Dim("B")}}
    names = cross_names(transformer.config.decoder_layers)
    return trace(EncoderGraph(transformer), inputs, dynamic, ["source", "lengths"], names, OPSET)


def _step(transformer: Transformer) -> onnx.ModelProto:
    config = transformer.config
    layers = config.decoder_layers
    batch, beams, longest, columns = map(Dim, ("B", "K", "S", "L"))
    visible = torch.zeros(2, 1, 3, 12, dtype=torch.bool)
    visible[..., :3] = torch.eye(3, dtype=torch.bool)
    inputs: dict[str, Any] = {
        "token": torch.tensor([[3, 4, 5], [6, 7, 8]], dtype=torch.int32),
        "position": torch.tensor([0, 1], dtype=torch.int32),
        "write": torch.tensor([0, 3]),
        "lengths": torch.tensor([5, 2], dtype=torch.int32),
        "visible": visible,
        **dict(zip(EDITS, example_edits(2, 3, EDIT_ROOM), strict=True)),
        "cross": _random(transformer, 2 * layers, (2, config.heads, 5, config.d_head)),
        "cache": _random(transformer, 2 * layers, (2, config.heads, 12, config.d_head)),
    }
    dynamic: dict[str, Any] = {
        "token": {0: batch, 1: beams},
        "position": {0: batch},
        "write": {0: batch},
        "lengths": {0: batch},
        "visible": {0: batch, 2: beams, 3: columns},
        **{name: {0: batch, 1: beams} for name in EDITS},
        "cross": [{0: batch, 2: longest}] * (2 * layers),
        "cache": [{0: batch, 2: columns}] * (2 * layers),
    }
    names = [*STEP_INPUTS, *cross_names(layers), *cache_names(layers, "past")]
    inputs["edit_id"] = inputs["edit_id"].to(torch.int32)
    outputs = [*FOUND, *cache_names(layers, "present")]
    module: nn.Module = BlockStep(transformer, 2 * MAX_BEAM_SIZE)
    return trace(module, inputs, dynamic, names, outputs, OPSET)


def _random(transformer: Transformer, count: int, shape: tuple[int, ...]) -> list[torch.Tensor]:
    """Keys and values, of the model's own type."""
    dtype = transformer.embedding.weight.dtype
    return [torch.randn(shape).to(dtype) for _ in range(count)]
