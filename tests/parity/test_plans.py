"""TensorRT's compiler takes the graphs for GPUs at all shapes, and says what it does not take."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from export.gpu.graphs import GpuPrecision
from export.plans.axes import fix_axes
from export.plans.builder import BuiltPlan, build_plan
from export.plans.errors import CompileError
from serving.engines.gpu.plans import PlanAxes, axes_of
from serving.engines.gpu.shapes import DEFAULT_SHAPES
from tests.parity.compile_table import PRECISIONS, builds
from tests.parity.compiling import rtx

pytestmark = pytest.mark.filterwarnings("ignore:.*Timing cache operations:DeprecationWarning")


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("size", ["tiny", "base", "big"])
def test_graphs_compile_at_all_shapes(size: str, precision: GpuPrecision) -> None:
    """A layer of each kind, at full width: tracing more takes minutes, and all are alike.

    `tests.parity.compile_table` builds all layers.
    """
    built = list(builds(precision, preset=size, encoder_layers=1, decoder_layers=1))
    assert [build.name for build in built] == list(axes_of(DEFAULT_SHAPES))
    assert {build.precision for build in built} == {precision}


def graph(*nodes: onnx.NodeProto, half: bool = True, bias: bool = False) -> bytes:
    """From x (B, 4) to y (B, 4), by these nodes."""
    kind = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    made = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info("x", kind, ("B", 4))],
        [helper.make_tensor_value_info("y", kind, ("B", 4))],
        [numpy_helper.from_array(np.ones((4, 4), np.float32), "weight")] if bias else [],
    )
    opset = helper.make_opsetid("", 24)
    content: bytes = helper.make_model(
        made, opset_imports=[opset], ir_version=10
    ).SerializeToString()
    return content


RELU = helper.make_node("Relu", ["x"], ["y"], name="relu")


def build(content: bytes, *profiles: dict[str, int], **fixed: int) -> BuiltPlan:
    return build_plan(rtx(), content, PlanAxes(fixed, profiles))


def test_precision_is_the_graphs() -> None:
    assert build(graph(RELU), {"B": 2}).precision == "fp16"
    assert build(graph(RELU, half=False), {"B": 2}).precision == "fp32"


def test_two_types_in_one_operator_are_refused_by_name() -> None:
    mixed = helper.make_node("MatMul", ["x", "weight"], ["y"], name="mixed")
    with pytest.raises(CompileError, match=r"node mixed \(MatMul\)(.|\n)*Half(.|\n)*Float"):
        build(graph(mixed, bias=True), {"B": 2})


@pytest.mark.parametrize("operator", ["Unique", "Multinomial"])
def test_an_operator_that_is_not_supported_is_named(operator: str) -> None:
    node = helper.make_node(operator, ["x"], ["y"], name="strange")
    with pytest.raises(CompileError, match=rf"node strange \({operator}\): UNSUPPORTED_NODE"):
        build(graph(node), {"B": 2})


def test_an_input_that_no_profile_sizes_is_named() -> None:
    with pytest.raises(CompileError, match="input x has the axis 'B', for which there is no size"):
        build(graph(RELU), {})


def test_an_axis_that_no_input_has_is_named() -> None:
    with pytest.raises(CompileError, match="no input of the graph has the axis 'L'"):
        build(graph(RELU), {"B": 2}, L=8)


def test_what_the_builder_says_is_told() -> None:
    with pytest.raises(CompileError, match="must have at least one output"):
        build(b"", {"B": 2})


@pytest.mark.parametrize("content", [b"no graph at all", graph(RELU)[:-3]])
def test_what_is_no_onnx_file_is_told(content: bytes) -> None:
    with pytest.raises(CompileError, match="this is no ONNX file"):
        build(content, {"B": 2})


def test_fixing_axes_changes_these_axes_of_inputs_and_nothing_else() -> None:
    content = graph(RELU, bias=True)
    expected = onnx.load_from_string(content)
    expected.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1056
    assert onnx.load_from_string(fix_axes(content, {"B": 1056})) == expected
    assert fix_axes(content, {}) == content
