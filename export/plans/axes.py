"""Give axes of an ONNX graph's inputs their sizes, in the file's bytes.

TensorRT wants the columns of a cache to be known when it parses the graph, not later. The image
for GPUs has no `onnx`, and no more is needed than to follow one path of its messages, in
protobuf's encoding: a field is a tag (8 x number + wire type) and a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from export.plans.errors import CompileError

INPUT_AXES = (7, 11, 2, 1, 2, 1)
"""Fields from a ModelProto down: graph, input, type, tensor_type, shape, dim."""

DIM_VALUE, DIM_PARAM = 1, 2
VARINT, EIGHT_BYTES, DELIMITED, FOUR_BYTES = 0, 1, 2, 5


def fix_axes(graph: bytes, sizes: Mapping[str, int]) -> bytes:
    """The same graph, in which the inputs' axes of these names have these sizes.

    Raises:
        CompileError: it is no ONNX file, or no input has one of the axes.
    """
    met: set[str] = set()
    try:
        fixed = _rewrite(memoryview(graph), INPUT_AXES, sizes, met)
    except (IndexError, ValueError) as error:
        raise CompileError(f"this is no ONNX file: {error}") from error
    missing = set(sizes) - met
    if missing:
        raise CompileError(f"no input of the graph has the axis {min(missing)!r}")
    return fixed


def _rewrite(
    message: memoryview, path: tuple[int, ...], sizes: Mapping[str, int], met: set[str]
) -> bytes:
    """A message in which the axes at the end of the path are fixed."""
    if not path:
        return _fixed_axis(message, sizes, met)
    parts: list[bytes | memoryview] = []
    for number, kind, field, value in _fields(message):
        if number == path[0] and kind == DELIMITED:
            inner = _rewrite(value, path[1:], sizes, met)
            parts += [_varint(8 * number + kind), _varint(len(inner)), inner]
        else:
            parts.append(field)
    return b"".join(parts)


def _fixed_axis(axis: memoryview, sizes: Mapping[str, int], met: set[str]) -> bytes:
    """A Dimension: with a value in place of its name, if it has one of the names."""
    for number, _, _, value in _fields(axis):
        if number == DIM_PARAM and (name := str(value, "utf-8")) in sizes:
            met.add(name)
            return _varint(8 * DIM_VALUE + VARINT) + _varint(sizes[name])
    return bytes(axis)


def _fields(message: memoryview) -> Iterator[tuple[int, int, memoryview, memoryview]]:
    """Number, wire type, all bytes and the value's bytes of each field."""
    start = 0
    while start < len(message):
        tag, place = _read_varint(message, start)
        kind = tag & 7
        end = place
        if kind == VARINT:
            _, end = _read_varint(message, place)
        elif kind == DELIMITED:
            length, place = _read_varint(message, place)
            end = place + length
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            end = place + (8 if kind == EIGHT_BYTES else 4)
        else:
            raise ValueError(f"a field has the wire type {kind}")
        if end > len(message):
            raise ValueError("it ends too early")
        yield tag >> 3, kind, message[start:end], message[place:end]
        start = end


def _read_varint(message: memoryview, place: int) -> tuple[int, int]:
    """A number in groups of 7 bits, the lowest first, and the place after it."""
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return number, place


def _varint(number: int) -> bytes:
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)
