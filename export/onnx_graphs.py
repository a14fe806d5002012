"""The two graphs, traced from the model's modules with truly dynamic shapes."""

from __future__ import annotations

import dataclasses
import logging
import warnings
from typing import Any

import onnx
import torch
from torch import nn
from torch.export import Dim

from model.step import DecoderStepGraph, EncoderGraph
from model.transformer import Transformer
from serving.engines.onnx import cache_names, cross_names
from serving.errors import ConfigError
from serving.options import MAX_BEAM_SIZE

TRANSPOSED = ".transposed"
"""Ends the name of a linear layer's weight, which a graph holds as (in, out)."""

ROWS = ("token", "position", "parent")

OPSET = 20
"""The newest that ONNX Runtime 1.22 and TensorRT 10 both take whole."""


@dataclasses.dataclass(frozen=True)
class Graphs:
    """Both graphs as ONNX models in memory."""

    encoder: onnx.ModelProto
    decoder_step: onnx.ModelProto


def export_graphs(transformer: Transformer) -> Graphs:
    """Trace encoder and decoder step; `transformer` must be in evaluation mode.

    Raises:
        ConfigError: its keys are of another width than its values.
    """
    config = transformer.config
    if config.d_k not in (None, config.d_head):
        raise ConfigError(
            f"a model with d_k {config.d_k} cannot be exported: served models have keys as wide "
            f"as values ({config.d_head})"
        )
    return Graphs(_encoder(transformer), _decoder_step(transformer))


def _encoder(transformer: Transformer) -> onnx.ModelProto:
    source, lengths = torch.ones(2, 5, dtype=torch.int64), torch.tensor([5, 3])
    return _export(
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
    rows = [torch.tensor([[0, 1, 2], [3, 4, 4]]) for _ in ROWS]
    cross = [torch.randn(2, config.heads, 5, config.d_head) for _ in range(2 * layers)]
    past = [torch.randn(7, config.heads, 4, config.d_head) for _ in range(2 * layers)]
    return _export(
        DecoderStepGraph(transformer, 2 * MAX_BEAM_SIZE),
        {
            **dict(zip(ROWS, rows, strict=True)),
            "lengths": torch.tensor([5, 3]),
            "cross": cross,
            "cache": past,
        },
        {
            **{name: {0: Dim("B"), 1: Dim("K")} for name in ROWS},
            "lengths": {0: Dim("B")},
            "cross": [{0: Dim("B"), 2: Dim("S")}] * len(cross),
            "cache": [{0: Dim("N_before"), 2: Dim("T")}] * len(past),
        },
        [
            "token",
            "position",
            "parent",
            "lengths",
            *cross_names(layers),
            *cache_names(layers, "past"),
        ],
        ["log_prob", "candidate", *cache_names(layers, "present")],
    )


def _export(
    module: nn.Module,
    inputs: dict[str, Any],
    dynamic: dict[str, Any],
    input_names: list[str],
    output_names: list[str],
) -> onnx.ModelProto:
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it misses torchvision, we do not
    with warnings.catch_warnings():  # of the exporter about itself and about axes that we share
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            module.eval(),
            kwargs=inputs,
            dynamic_shapes=dynamic,
            input_names=input_names,
            output_names=output_names,
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    _name_weights(model, module)
    _forget_the_tracer(model)
    onnx.checker.check_model(model, full_check=True)
    return model


def _name_weights(model: onnx.ModelProto, module: nn.Module) -> None:
    """Give the folded, transposed weights of linear layers their parameters' names again.

    So a graph can be read, and its weights found by name.
    """
    names = {
        parameter.detach().T.contiguous().numpy().tobytes(): name + TRANSPOSED
        for name, parameter in module.named_parameters()
        if parameter.dim() == 2
    }
    renamed: dict[str, str] = {}
    for tensor in model.graph.initializer:
        name = names.get(tensor.raw_data)
        if name is not None and len(tensor.dims) == 2:
            renamed[tensor.name] = tensor.name = name
    for node in model.graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]


def _forget_the_tracer(model: onnx.ModelProto) -> None:
    """Drop the exporter's notes: stack traces with paths of the machine that exported."""
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.initializer, *graph.value_info):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    for value in (*graph.input, *graph.output):
        value.ClearField("metadata_props")
