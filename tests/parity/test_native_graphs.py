"""The native engine's graphs and its calls, with ONNX Runtime in Triton's place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from export.gpu.half import half
from export.native.in_process import native_engine
from export.native.profile import profile
from export.onnx_graphs import Graphs, export_graphs
from export.plans.builder import build_plan
from export.proof import prove
from model.engine import TorchEngine
from model.transformer import Transformer
from serving.engine import Edits, pad
from serving.engines.gpu.plans import PlanAxes
from serving.triton.native_engine import SPARE_COLUMNS
from tests.parity.company import assert_company_changes_nothing
from tests.parity.compiling import rtx
from tests.parity.models import random_sentences, small_model


@pytest.fixture(scope="module")
def transformer() -> Transformer:
    return small_model()


@pytest.fixture(scope="module")
def graphs(transformer: Transformer) -> Graphs:
    return export_graphs(transformer)


@pytest.fixture(scope="module")
def half_graphs(transformer: Transformer) -> Graphs:
    return export_graphs(half(transformer))


def test_translations_are_those_of_pytorch(transformer: Transformer, graphs: Graphs) -> None:
    reference = TorchEngine(transformer)
    sentences = random_sentences(np.random.default_rng(0), 20, 12)
    assert prove(reference, native_engine(graphs, reference.spec), sentences).beams == (1, 4)


def test_company_changes_nothing(transformer: Transformer, graphs: Graphs) -> None:
    engine = native_engine(graphs, TorchEngine(transformer).spec)
    assert_company_changes_nothing(engine, seed=6, tolerance=2e-5)


def test_columns_that_nobody_sees_are_cut_off_when_they_are_many(
    transformer: Transformer, graphs: Graphs
) -> None:
    engine = native_engine(graphs, TorchEngine(transformer).spec)
    memory = engine.encode(*pad([[5, 2]], 0))
    cache: Any = None
    one = np.zeros(1, dtype=np.int64)
    widths = []
    for position in [*range(SPARE_COLUMNS + 3), 0, 1]:
        _, cache = engine.step(memory, cache, one + 5, one + position, one, Edits.none(1))
        widths.append(cache[0].as_numpy().shape[2])
    assert widths[:-2] == list(range(2, SPARE_COLUMNS + 5)), "one hidden column, then the row's own"
    assert widths[-2:] == [2, 3]


def test_graphs_in_fp16_run_and_agree_closely(
    transformer: Transformer, graphs: Graphs, half_graphs: Graphs
) -> None:
    spec = TorchEngine(transformer).spec
    engines = [native_engine(both, spec) for both in (graphs, half_graphs)]
    source, lengths = pad(random_sentences(np.random.default_rng(3), 4, 9), 0)
    token = np.full(4, spec.start_id, dtype=np.int64)
    rows = np.arange(4)
    found = []
    for engine in engines:
        memory = engine.encode(source, lengths)
        none = Edits.none(4)
        first, cache = engine.step(memory, None, token, 0 * rows, 0 * rows, none)
        second, cache = engine.step(memory, cache, token + 4, 0 * rows + 1, rows, none)
        found.append(np.stack((first.log_prob, second.log_prob)))
        assert cache[0].as_numpy().dtype == (np.float32 if engine is engines[0] else np.float16)
    # These weights are far larger than those of a trained model, and so are the logits.
    np.testing.assert_allclose(found[0], found[1], atol=0.3)


def test_tensorrt_takes_the_graphs_with_their_profile(graphs: Graphs, half_graphs: Graphs) -> None:
    for both in (graphs, half_graphs):
        for model in (both.encoder, both.decoder_step):
            axes = PlanAxes({}, (profile(model.graph),))
            assert build_plan(rtx(), model.SerializeToString(), axes).content
