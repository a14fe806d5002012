"""The shapes that a TensorRT plan of a portable graph is compiled for.

The axes of the graphs have names, and one range each. `dragoman compile` makes one optimisation
profile of them when it builds `1/model.plan` of `1/model.onnx`.
"""

from __future__ import annotations

from typing import NamedTuple

import onnx

from serving.errors import ConfigError
from serving.options import MAX_BEAM_SIZE, MAX_SOURCE_TOKENS
from serving.triton.native_engine import COLUMNS, EDIT_ROOM, SENTENCES


class Range(NamedTuple):
    """What an axis may be, or a shape: the least, what is usual, the most."""

    min: int
    opt: int
    max: int


AXES = {
    "B": Range(1, 8, SENTENCES),
    "K": Range(1, 4, MAX_BEAM_SIZE),
    "M": Range(1, 32, EDIT_ROOM),
    "N_before": Range(1, 32, SENTENCES * MAX_BEAM_SIZE),
    "S": Range(1, 32, MAX_SOURCE_TOKENS),
    "T": Range(1, 32, COLUMNS),
}
"""The free axes of both graphs: sentences, beams, rows of the step before, source tokens, columns
of the cache, edits. The native engine never leaves them."""


def profile(graph: onnx.GraphProto) -> dict[str, list[int]]:
    """`min`, `opt` and `max` of each axis that is free in some input.

    Raises:
        ConfigError: an axis is free that has no range; names an input that has it.
    """
    ranges: dict[str, list[int]] = {}
    for value in graph.input:
        for dim in value.type.tensor_type.shape.dim:
            axis = dim.dim_param
            if axis and axis not in AXES:
                known = ", ".join(AXES)
                raise ConfigError(f"{value.name} has a free axis {axis!r}; known: {known}")
            if axis:
                ranges[axis] = list(AXES[axis])
    return ranges
