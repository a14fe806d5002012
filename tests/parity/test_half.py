"""FP16: which types a graph has, how far it is from FP32, and that nothing overflows."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from export.gpu.graphs import gpu_graphs
from export.gpu.onnx_device import FixedEngine
from export.gpu.ranges import largest_activation
from export.gpu.types import check_types
from export.onnx_graphs import Graphs
from export.proof import ProofError, compare_steps, groups
from model.engine import TorchEngine
from model.transformer import Transformer
from serving.bundle import Bundle
from serving.engines.gpu.shapes import EncoderShape, Shapes, StepPlan
from serving.options import DecodingOptions
from serving.search import search
from tests.parity.models import random_sentences, small_model
from tests.parity.reference_device import ReferenceEngine
from tests.parity.shipped import BUNDLE, shipped_gpu_graphs, torch_transformer

SHAPES = Shapes(
    encoder=(EncoderShape(4, 24), EncoderShape(4, 80)),
    step=(StepPlan(4, 24, (4,)), StepPlan(4, 80, (4,))),
)


@pytest.fixture(scope="module")
def shipped() -> Transformer:
    return torch_transformer(Bundle.open(BUNDLE))


@pytest.fixture(scope="module")
def graphs() -> Graphs:
    return shipped_gpu_graphs()


def test_log_probabilities_are_near_those_of_fp32(
    shipped: Transformer, graphs: Graphs, sentences: list[str]
) -> None:
    bundle = Bundle.open(BUNDLE)
    sources = [bundle.text_processor().encode(line) for line in sentences[:16]]
    half = FixedEngine(graphs, bundle.spec, SHAPES)
    for group in groups(half, sources):
        _, difference = compare_steps(TorchEngine(shipped), half, group)
        assert difference < 0.02


def test_nothing_overflows_where_fp16_is_computed_in_fp16(
    graphs: Graphs, sentences: list[str]
) -> None:
    bundle = Bundle.open(BUNDLE)
    sources = [bundle.text_processor().encode(line) for line in sentences[:4]]
    engines = [kind(graphs, bundle.spec, SHAPES) for kind in (ReferenceEngine, FixedEngine)]
    reference = engines[0]
    assert isinstance(reference, ReferenceEngine)
    found, expected = (search(one, sources, DecodingOptions()) for one in engines)
    assert reference.device.not_finite == set()
    assert 1 < reference.device.largest < 65504 / 8
    for one, other in zip(found, expected, strict=True):
        assert one[0].ids == other[0].ids
        assert one[0].score == pytest.approx(other[0].score, abs=0.02)


def test_a_model_that_overflows_is_seen_by_both_means() -> None:
    model = small_model(decoder_layers=1, encoder_layers=1)
    with torch.no_grad():
        for layer in model.decoder_layers:
            layer.feed_forward.outer.weight.mul_(3e4)
    sources = random_sentences(np.random.default_rng(1), 4, 9)
    with pytest.raises(ProofError, match=r"FP16 may overflow.*feed_forward"):
        largest_activation(model, sources).check()
    reference = ReferenceEngine(gpu_graphs(model, "fp16"), TorchEngine(model).spec, SHAPES)
    search(reference, sources, DecodingOptions(2))
    assert reference.device.not_finite


def test_the_shipped_model_has_headroom(shipped: Transformer, sentences: list[str]) -> None:
    bundle = Bundle.open(BUNDLE)
    sources = [bundle.text_processor().encode(line) for line in sentences[:4]]
    largest = largest_activation(shipped, sources)
    largest.check()
    assert 10 < largest.value < 2000
    assert largest_activation(shipped, sources) == largest  # hooks and attention are as before


@pytest.mark.parametrize(
    ("operator", "kind", "message"),
    [
        ("Softmax", TensorProto.FLOAT16, "Softmax here computes in FP16, not in FP32"),
        ("Relu", TensorProto.FLOAT, "Relu here computes in FP32, not in FP16"),
        ("Neg", TensorProto.DOUBLE, "Neg here computes in FP64"),
    ],
)
def test_types_are_asserted(operator: str, kind: int, message: str) -> None:
    node = helper.make_node(operator, ["x"], ["y"], name="here")
    values = [helper.make_tensor_value_info(name, kind, [2, 2]) for name in "xy"]
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])
    with pytest.raises(ProofError, match=message):
        check_types(model, "fp16")


def test_a_graph_of_another_precision_is_no_graph_of_this_one(graphs: Graphs) -> None:
    for graph in (graphs.encoder, graphs.decoder_step):
        check_types(graph, "fp16")
        with pytest.raises(ProofError, match="computes in FP16, not in FP32"):
            check_types(graph, "fp32")
        onnx.checker.check_model(graph, full_check=True)
