"""The two graphs, traced from the model's modules with truly dynamic shapes."""

from __future__ import annotations

import dataclasses

import onnx
import torch
from torch.export import Dim

from export.trace import trace
from model.step import DecoderStepGraph, EncoderGraph
from model.transformer import Transformer
from serving.engines.names import EDITS, FOUND, cache_names, cross_names
from serving.errors import ConfigError
from serving.options import MAX_BEAM_SIZE

ROWS = ("token", "position", "parent")


@dataclasses.dataclass(frozen=True)
class Graphs:
    """Both graphs as ONNX models in memory."""

    encoder: onnx.ModelProto
    decoder_step: onnx.ModelProto


def export_graphs(transformer: Transformer) -> Graphs:
    """Trace encoder and decoder step; `transformer` must be in evaluation mode.

    Their free axes are named: B sentences, K beams, S source tokens, N_before rows of the cache,
    T columns of it, M edits. A model in FP16 (see `export.gpu.half`) gives graphs in FP16.

    Raises:
        ConfigError: its keys are of another width than its values.
    """
    check_exportable(transformer)
    return Graphs(_encoder(transformer), _decoder_step(transformer))


def check_exportable(transformer: Transformer) -> None:
    """Raise ConfigError unless keys are as wide as values."""
    config = transformer.config
    if config.d_k not in (None, config.d_head):
        raise ConfigError(
            f"a model with d_k {config.d_k} cannot be exported: served models have keys as wide "
            f"as values ({config.d_head})"
        )


def _encoder(transformer: Transformer) -> onnx.ModelProto:
    source, lengths = torch.ones(2, 5, dtype=torch.int64), torch.tensor([5, 3])
    return trace(
        EncoderGraph(transformer),
        {"source": source, "lengths": lengths},
        {"source": {0: Dim("B"), 1: Dim("S")}, "lengths": {0: Dim("B")}},
        ["source", "lengths"],
        cross_names(transformer.config.decoder_layers),
    )


def _decoder_step(transformer: Transformer) -> onnx.ModelProto:
    config = transformer.config
    layers = config.decoder_layers
    # Three tensors of B = 2, K = 3: the exporter takes one that is passed twice for one input.
    tokens = [torch.tensor([[0, 1, 2], [3, 4, 4]]) for _ in ROWS]
    dtype = transformer.embedding.weight.dtype
    cross, past = (
        [torch.randn(rows, config.heads, width, config.d_head).to(dtype) for _ in range(2 * layers)]
        for rows, width in ((2, 5), (7, 4))
    )
    return trace(
        DecoderStepGraph(transformer, 2 * MAX_BEAM_SIZE),
        {
            **dict(zip(ROWS, tokens, strict=True)),
            "lengths": torch.tensor([5, 3]),
            **dict(zip(EDITS, example_edits(2, 3, 5), strict=True)),
            "cross": cross,
            "cache": past,
        },
        {
            **{name: {0: Dim("B"), 1: Dim("K")} for name in ROWS},
            "lengths": {0: Dim("B")},
            **{name: {0: Dim("B"), 1: Dim("K"), 2: Dim("M")} for name in EDITS},
            "cross": [{0: Dim("B"), 2: Dim("S")}] * len(cross),
            "cache": [{0: Dim("N_before"), 2: Dim("T")}] * len(past),
        },
        [
            "token",
            "position",
            "parent",
            "lengths",
            *EDITS,
            *cross_names(layers),
            *cache_names(layers, "past"),
        ],
        [*FOUND, *cache_names(layers, "present")],
    )


def example_edits(*shape: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Inputs of a step that change nothing."""
    ids = torch.zeros(shape, dtype=torch.int64)
    return ids, torch.ones(shape), torch.zeros(shape)
