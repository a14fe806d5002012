"""The graphs that are served on CPUs: equal to PyTorch in FP32, and never changed by company."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from export.cpu_engine import PrecisionName, cpu_engine
from export.proof import prove
from model.engine import TorchEngine
from model.transformer import Transformer
from serving.engine import Rows
from serving.engines.onnx import OnnxEngine
from serving.options import DecodingOptions
from serving.search import search
from tests.parity.company import assert_company_changes_nothing
from tests.parity.flight import assert_decoders_agree
from tests.parity.models import joining, random_sentences, small_model

MODELS: dict[str, dict[str, Any]] = {
    "post": {"norm": "post"},
    "pre": {"norm": "pre"},
    "many-groups": {"vocab_size": 1500},  # selection in two stages, the last group not full
    "window": {"encoder_attention": "window", "attention_span": 2},
    "learned": {"positions": "learned", "max_positions": 60},
}


@pytest.fixture(scope="module", params=MODELS)
def transformer(request: pytest.FixtureRequest) -> Transformer:
    return small_model(**MODELS[request.param])


@pytest.fixture(scope="module")
def engine(transformer: Transformer) -> OnnxEngine:
    return cpu_engine(transformer, "fp32", (), threads=2)


@pytest.mark.parametrize("seed", range(4))
def test_every_step_of_a_random_flight_agrees(
    transformer: Transformer, engine: OnnxEngine, seed: int
) -> None:
    assert_decoders_agree([TorchEngine(transformer).decoder(), engine.decoder()], seed)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_translations_agree(transformer: Transformer, engine: OnnxEngine, beam_size: int) -> None:
    sentences = random_sentences(np.random.default_rng(0), 20, 12)
    proof = prove(TorchEngine(transformer), engine, sentences, beams=(beam_size,))
    assert proof.largest_difference < 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_company_changes_nothing_in_fp32(engine: OnnxEngine, seed: int) -> None:
    assert_company_changes_nothing(engine, seed, tolerance=2e-5)


@pytest.fixture(scope="module", params=["post", "many-groups"])
def int8(request: pytest.FixtureRequest) -> tuple[Transformer, OnnxEngine]:
    model = small_model(**MODELS[request.param])
    precision: PrecisionName = "int8"
    calibration = random_sentences(np.random.default_rng(3), 40, 14)
    return model, cpu_engine(model, precision, calibration, threads=2)


@pytest.mark.parametrize("seed", range(3))
def test_company_changes_nothing_in_int8(int8: tuple[Transformer, OnnxEngine], seed: int) -> None:
    """To the last bit: scales are fixed, and sums of a row never depend on other rows."""
    assert_company_changes_nothing(int8[1], seed, tolerance=0.0)


def test_decoders_side_by_side_share_the_threads() -> None:
    engine = cpu_engine(small_model(), "fp32", (), threads=2, workers=2)
    first, second = engine.decoder(), engine.decoder()
    wide = engine.sessions.now()
    first.join(*joining([[5, 6, 2]]))
    assert engine.sessions.now() is wide
    second.join(*joining([[7, 2]]))
    assert engine.sessions.now() is not wide
    first.select(np.zeros(0, dtype=np.int64))
    assert engine.sessions.now() is wide
    second.select(np.zeros(0, dtype=np.int64))
    sentences = random_sentences(np.random.default_rng(2), 30, 12)
    options = DecodingOptions(2)
    alone = search(engine, sentences, options)
    assert search(engine, sentences, options, rows=8, workers=2) == alone
    assert engine.sessions.now() is wide


def test_int8_ranks_nearly_as_fp32(int8: tuple[Transformer, OnnxEngine]) -> None:
    model, engine = int8
    source, demands = joining(random_sentences(np.random.default_rng(7), 30, 14))
    rows = Rows(*(np.arange(30), np.full(30, 1), np.zeros(30, dtype=np.int64), np.arange(30)))
    found = []
    for one in (TorchEngine(model), engine):
        decoder = one.decoder()
        decoder.join(source, demands)
        found.append(decoder.step(rows))
    expected, quantised = found
    shared = [len(set(a) & set(b)) for a, b in zip(expected.token, quantised.token, strict=True)]
    assert np.mean(shared) > 0.75 * expected.token.shape[1]
    assert np.abs(expected.log_prob[:, 0] - quantised.log_prob[:, 0]).mean() < 0.5
