"""The config.pbtxt of a graph that a backend of Triton's runs, from its inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import onnx

from serving.errors import ConfigError

Backend = Literal["onnxruntime", "tensorrt"]

HEADS: dict[Backend, str] = {
    "onnxruntime": 'backend: "onnxruntime"',
    "tensorrt": 'platform: "tensorrt_plan"',
}
"""What names the backend; each also says which file it runs, model.onnx or model.plan."""

TYPES: dict[int, str] = {
    onnx.TensorProto.FLOAT: "TYPE_FP32",
    onnx.TensorProto.FLOAT16: "TYPE_FP16",
    onnx.TensorProto.INT64: "TYPE_INT64",
    onnx.TensorProto.INT32: "TYPE_INT32",
    onnx.TensorProto.BOOL: "TYPE_BOOL",
}


def model_config(graph: onnx.GraphProto, backend: Backend) -> str:
    """The text of config.pbtxt; free axes are -1, and the first axis is no batch of Triton's.

    Raises:
        ConfigError: an input or output is of a type that our graphs do not have.
    """
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    return (
        f"# Written by dragoman export --native {backend}, of the graph's inputs and outputs.\n"
        f"{HEADS[backend]}\n"
        "max_batch_size: 0\n"
        f"input [\n{_entries(inputs)}\n]\n"
        f"output [\n{_entries(graph.output)}\n]\n"
    )


def _entries(values: Iterable[onnx.ValueInfoProto]) -> str:
    return ",\n".join(map(_entry, values))


def _entry(value: onnx.ValueInfoProto) -> str:
    tensor = value.type.tensor_type
    if tensor.elem_type not in TYPES:
        name = onnx.TensorProto.DataType.Name(tensor.elem_type)
        raise ConfigError(f"{value.name} is of type {name}, which no graph of ours should have")
    dims = ", ".join(
        str(dim.dim_value) if dim.HasField("dim_value") else "-1" for dim in tensor.shape.dim
    )
    return f'  {{ name: "{value.name}" data_type: {TYPES[tensor.elem_type]} dims: [ {dims} ] }}'
