"""The shapes that a TensorRT plan of a portable graph is compiled for.

The axes of the graphs have names, and one range each. Whoever compiles `1/model.onnx` to
`1/model.plan` gives TensorRT one optimisation profile with these shapes.
"""

from __future__ import annotations

from typing import NamedTuple

import onnx

from serving.errors import ConfigError
from serving.options import MAX_BEAM_SIZE, MAX_SOURCE_TOKENS
from serving.triton.native_engine import COLUMNS, SENTENCES


class Range(NamedTuple):
    """What an axis may be, or a shape: the least, what is usual, the most."""

    min: int
    opt: int
    max: int


AXES = {
    "B": Range(1, 8, SENTENCES),
    "K": Range(1, 4, MAX_BEAM_SIZE),
    "N_before": Range(1, 32, SENTENCES * MAX_BEAM_SIZE),
    "S": Range(1, 32, MAX_SOURCE_TOKENS),
    "T": Range(1, 32, COLUMNS),
}
"""The free axes of both graphs: sentences, beams, rows of the step before, source tokens, columns
of the cache. The native engine never leaves them."""

Profile = dict[str, dict[str, list[int]]]


def profile(graph: onnx.GraphProto) -> Profile:
    """The shapes `min`, `opt` and `max` of each input with a free axis.

    Raises:
        ConfigError: an axis is free that has no range.
    """
    return {
        value.name: {bound: _shape(value, bound) for bound in Range._fields}
        for value in graph.input
        if any(dim.HasField("dim_param") for dim in value.type.tensor_type.shape.dim)
    }


def _shape(value: onnx.ValueInfoProto, bound: str) -> list[int]:
    return [_size(value.name, dim, bound) for dim in value.type.tensor_type.shape.dim]


def _size(name: str, dim: onnx.TensorShapeProto.Dimension, bound: str) -> int:
    if not dim.HasField("dim_param"):
        return dim.dim_value
    if dim.dim_param not in AXES:
        raise ConfigError(f"{name} has a free axis {dim.dim_param!r}; known: {', '.join(AXES)}")
    size: int = getattr(AXES[dim.dim_param], bound)
    return size
