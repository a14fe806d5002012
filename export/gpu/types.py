"""The type of every number in a graph, node by node: nothing is left to an engine's taste."""

from __future__ import annotations

import onnx
from onnx import TensorProto

from export.proof import ProofError

ISLANDS = frozenset(
    ("LayerNormalization", "Softmax", "Exp", "Log", "Sin", "Cos", "ReduceMax", "ReduceSum", "TopK")
)
"""Operators that compute in FP32 whatever the precision; see `export.gpu.half`."""

PRODUCTS = frozenset(("MatMul", "Gemm", "Relu", "TensorScatter"))
"""Operators that compute in the graph's precision."""

_FLOATS: dict[int, str] = {
    TensorProto.FLOAT: "FP32",
    TensorProto.FLOAT16: "FP16",
    TensorProto.DOUBLE: "FP64",
    TensorProto.BFLOAT16: "BF16",
}


def check_types(model: onnx.ModelProto, precision: str) -> None:
    """Assert that each node computes in the type that it should.

    Args:
        precision: `fp32` or `fp16`, of matrix products.

    Raises:
        ProofError: a node mixes types, or has another than it should; it is named.
    """
    types = value_types(model)
    for node in model.graph.node:
        found = {types[name] for name in (*node.input, *node.output) if types.get(name) in _FLOATS}
        if node.op_type == "Cast" or not found:
            continue
        names = " and ".join(sorted(_FLOATS[kind] for kind in found))
        if len(found) > 1:
            raise ProofError(f"{node.op_type} {node.name} mixes {names}")
        if names not in ("FP32", "FP16"):
            raise ProofError(f"{node.op_type} {node.name} computes in {names}")
        if node.op_type in ISLANDS and names != "FP32":
            raise ProofError(f"{node.op_type} {node.name} computes in {names}, not in FP32")
        if node.op_type in PRODUCTS and names != precision.upper():
            raise ProofError(
                f"{node.op_type} {node.name} computes in {names}, not in {precision.upper()}"
            )


def value_types(model: onnx.ModelProto) -> dict[str, int]:
    """The element type of every value, as ONNX infers it.

    Raises:
        ProofError: the type of some value cannot be inferred.
    """
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph
    values = (*inferred.input, *inferred.output, *inferred.value_info)
    types = {value.name: value.type.tensor_type.elem_type for value in values}
    types |= {tensor.name: tensor.data_type for tensor in inferred.initializer}
    for node in inferred.node:
        for name in node.output:
            if name and not types.get(name):
                raise ProofError(f"{node.op_type} {node.name} has an output of unknown type")
    return types
