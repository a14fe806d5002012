"""The graphs for GPUs in ONNX Runtime, on real sentences, beside those that CPUs are served by."""

from __future__ import annotations

import numpy as np
import pytest

from export.gpu.graphs import gpu_graphs
from export.gpu.onnx_device import FixedEngine
from model.transformer import Transformer
from serving.batch import Batch, Hypothesis, Sentence
from serving.bundle import Bundle
from serving.engine import Engine
from serving.engines.gpu.shapes import EncoderShape, Shapes, StepPlan
from serving.options import DecodingOptions
from tests.parity.shipped import BUNDLE, torch_transformer

SHAPES = Shapes(
    encoder=tuple(EncoderShape(8, length) for length in (16, 32, 128)),
    step=(StepPlan(4, 16, (8, 16)), StepPlan(4, 32, (8, 16)), StepPlan(4, 128, (1, 16))),
)
"""Most sentences outgrow the shortest."""


@pytest.fixture(scope="module")
def transformer() -> Transformer:
    return torch_transformer(Bundle.open(BUNDLE))


def translate(engine: Engine, sources: list[list[int]], seed: int) -> list[Hypothesis]:
    """In flight, a few joining at a time, so that rows of many ages and beams share the steps."""
    random = np.random.default_rng(seed)
    beams = random.integers(1, 5, len(sources))
    waiting = [
        Sentence(ids, DecodingOptions(int(beam)), n)
        for n, (ids, beam) in enumerate(zip(sources, beams, strict=True))
    ]
    batch: Batch[int] = Batch(engine)
    answers: dict[int, Hypothesis] = {}
    while waiting or batch.sentences:
        joining = waiting[: int(random.integers(0, 9))] if len(batch.sentences) < 16 else []
        if joining and all(map(batch.room(), joining)):
            batch.join(joining)
            waiting = waiting[len(joining) :]
        answers.update({s.ticket: found[0] for s, found in batch.step()})
    return [answers[n] for n in range(len(sources))]


def test_500_sentences_of_any_age_and_beam_are_translated_as_on_cpus(
    transformer: Transformer, sentences: list[str]
) -> None:
    bundle = Bundle.open(BUNDLE)
    text = bundle.text_processor()
    sources = [text.encode(line) for line in sentences]
    fixed = FixedEngine(gpu_graphs(transformer, "fp32"), bundle.spec, SHAPES)
    found = translate(fixed, sources, 1)
    expected = translate(bundle.engine(), sources, 1)
    assert [one.ids for one in found] == [one.ids for one in expected]
    differences = [abs(a.score - b.score) for a, b in zip(found, expected, strict=True)]
    assert max(differences) < 2e-5
