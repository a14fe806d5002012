"""From a module to a checked ONNX graph, by PyTorch's exporter."""

from __future__ import annotations

import ast
import logging
import warnings
from collections.abc import Sequence
from typing import Any

import onnx
import torch
from torch import nn

TRANSPOSED = ".transposed"
"""Ends the name of a linear layer's weight, which a graph holds as (in, out)."""

OPSET = 20
"""The newest that ONNX Runtime 1.22 and TensorRT 10 both take whole."""

_SCOPES = "pkg.torch.onnx.name_scopes"


def trace(
    module: nn.Module,
    inputs: dict[str, Any],
    dynamic: dict[str, Any],
    input_names: Sequence[str],
    output_names: Sequence[str],
    opset: int = OPSET,
) -> onnx.ModelProto:
    """Trace a module; nodes are named by the module they come from.

    Args:
        module: in evaluation mode or not; it is put into it.
        inputs: example tensors by argument.
        dynamic: which of their axes are free, as `torch.export` takes it.
        input_names: of the graph, in the order of the arguments.
        output_names: of the graph.
        opset: version of ONNX's operators.
    """
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it misses torchvision, we do not
    with warnings.catch_warnings():  # of the exporter about itself and about axes that we share
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            module.eval(),
            kwargs=inputs,
            dynamic_shapes=dynamic,
            input_names=list(input_names),
            output_names=list(output_names),
            opset_version=opset,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    _name_weights(model, module)
    _name_nodes(model)
    _forget_the_tracer(model)
    onnx.checker.check_model(model, full_check=True)
    return model


def _name_weights(model: onnx.ModelProto, module: nn.Module) -> None:
    """Give the folded, transposed weights of linear layers their parameters' names again.

    So a graph can be read, and its weights found by name.
    """
    names: dict[bytes, list[str]] = {}  # equal weights have several, one for each copy
    for name, parameter in module.named_parameters():
        if parameter.dim() == 2:
            content = parameter.detach().T.contiguous().numpy().tobytes()
            names.setdefault(content, []).append(name + TRANSPOSED)
    renamed: dict[str, str] = {}
    for tensor in model.graph.initializer:
        fitting = names.get(tensor.raw_data)
        if fitting and len(tensor.dims) == 2:
            renamed[tensor.name] = tensor.name = fitting.pop(0)
    for node in model.graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]


def _name_nodes(model: onnx.ModelProto) -> None:
    """Name each node by its module and operator, so that a profile can be read."""
    for number, node in enumerate(model.graph.node):
        notes = {note.key: note.value for note in node.metadata_props}
        scopes = [s for s in ast.literal_eval(notes.get(_SCOPES, "[]")) if s]
        node.name = f"{scopes[-2] if len(scopes) > 1 else 'graph'}/{node.op_type}.{number}"


def _forget_the_tracer(model: onnx.ModelProto) -> None:
    """Drop the exporter's notes: stack traces with paths of the machine that exported."""
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.initializer, *graph.value_info):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    for value in (*graph.input, *graph.output):
        value.ClearField("metadata_props")
