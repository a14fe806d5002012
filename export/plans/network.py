"""The network that TensorRT parses out of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from export.plans.errors import CompileError, parser_errors

if TYPE_CHECKING:
    import tensorrt as trt


def parse(trt: ModuleType, builder: trt.Builder, log: Any, graph: bytes) -> trt.INetworkDefinition:
    """The network of an ONNX file's content.

    Raises:
        CompileError: TensorRT refuses it; names the nodes.
    """
    network = builder.create_network(_creation_flags(trt))
    parser = trt.OnnxParser(network, log)
    if not parser.parse(graph):
        said = parser_errors(parser) or log.messages
        raise CompileError("TensorRT does not take the graph:\n  " + "\n  ".join(said))
    return network


def inputs(network: trt.INetworkDefinition) -> list[trt.ITensor]:
    """Its inputs."""
    return [network.get_input(index) for index in range(network.num_inputs)]


def is_half(trt: ModuleType, network: trt.INetworkDefinition) -> bool:
    """Whether the network hands on FP16."""
    outputs = [network.get_output(index) for index in range(network.num_outputs)]
    return any(tensor.dtype == trt.DataType.HALF for tensor in [*inputs(network), *outputs])


def profile(
    builder: trt.Builder, network: trt.INetworkDefinition, sizes: Mapping[str, int | list[int]]
) -> trt.IOptimizationProfile:
    """The profile of these sizes of the named axes.

    A size is one number, which TensorRT tunes for and alone is run; or the least, the usual and
    the largest.

    Raises:
        CompileError: an input has an axis of no size; names both.
    """
    made: trt.IOptimizationProfile = builder.create_optimization_profile()
    for tensor in inputs(network):
        axes = [_size(tensor, index, sizes) for index in range(len(tensor.shape))]
        shapes = [tuple(axis[bound] for axis in axes) for bound in range(3)]
        if shapes[0] != tuple(tensor.shape):
            made.set_shape(tensor.name, *shapes)
    return made


def _size(
    tensor: trt.ITensor, index: int, sizes: Mapping[str, int | list[int]]
) -> tuple[int, int, int]:
    """Least, usual and largest size of an axis."""
    known: int = tensor.shape[index]
    if known >= 0:
        return known, known, known
    axis = tensor.get_dimension_name(index)
    if axis not in sizes:
        what = f"the axis {axis!r}" if axis else "an axis without a name"
        raise CompileError(f"input {tensor.name} has {what}, for which there is no size")
    size = sizes[axis]
    if isinstance(size, int):
        return size, size, size
    least, usual, largest = size
    return least, usual, largest


def _creation_flags(trt: ModuleType) -> int:
    """TensorRT 11 types every network strongly; before, one has to ask for it."""
    flag = getattr(trt.NetworkDefinitionCreationFlag, "STRONGLY_TYPED", None)
    return 0 if flag is None else 1 << int(flag)
