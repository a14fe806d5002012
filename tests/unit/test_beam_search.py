"""Beam search against the list-based reference, alone and in every company."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.batch import Batch, Hypothesis, Sentence
from serving.options import DecodingOptions
from serving.search import search
from tests.unit.fake_engine import EOS, FakeEngine, next_log_probs
from tests.unit.reference_beam import Case, Found, decode


def reference(ids: Sequence[int], options: DecodingOptions, vocab_size: int) -> list[Found]:
    case = Case(tuple(ids), options)
    return decode(functools.partial(next_log_probs, case.source, vocab_size=vocab_size), EOS, case)


def assert_equal(found: Sequence[Hypothesis], expected: Sequence[Found]) -> None:
    assert [h.ids for h in found] == [e.ids for e in expected]
    assert [h.truncated for h in found] == [e.truncated for e in expected]
    assert [h.score for h in found] == pytest.approx([e.score for e in expected], abs=1e-5)
    for hypothesis, one in zip(found, expected, strict=True):
        assert hypothesis.token_scores == pytest.approx(one.token_scores, abs=1e-5)


def random_case(random: np.random.Generator) -> tuple[list[int], DecodingOptions]:
    ids = [*random.integers(3, 100, size=random.integers(0, 5)).tolist(), EOS]
    beam_size = int(random.integers(1, 6))
    n_best = int(random.integers(1, beam_size + 1))
    return ids, DecodingOptions(beam_size, float(random.choice([0.0, 0.6, 1.0])), n_best)


@pytest.mark.parametrize("seed", range(20))
def test_equals_reference_on_random_cases(seed: int) -> None:
    """20 x 50 = 1,000 small cases, each alone."""
    random = np.random.default_rng(seed)
    for _ in range(50):
        vocab_size = int(random.integers(10, 16))
        ids, options = random_case(random)
        found = search(FakeEngine(vocab_size), [ids], options)[0]
        assert_equal(found, reference(ids, options, vocab_size))


@pytest.mark.parametrize("seed", range(10))
def test_batch_of_mixed_options_and_ages_equals_reference(seed: int) -> None:
    """Sentences of different beams join a running batch at random moments."""
    random = np.random.default_rng(1000 + seed)
    cases = [random_case(random) for _ in range(12)]
    waiting = [Sentence(ids, options, i) for i, (ids, options) in enumerate(cases)]
    engine = FakeEngine()
    batch: Batch[int] = Batch(engine)
    answers: dict[int, list[Hypothesis]] = {}
    while waiting or batch.sentences:
        count = int(random.integers(0, 4))
        if waiting and (count or not batch.sentences):
            batch.join(waiting[: max(count, 1)])
            waiting = waiting[max(count, 1) :]
        for sentence, hypotheses in batch.step():
            assert sentence.ticket not in answers
            answers[sentence.ticket] = hypotheses
    for index, (ids, options) in enumerate(cases):
        assert_equal(answers[index], reference(ids, options, engine.spec.vocab_size))


@settings(deadline=None, max_examples=40)
@given(
    sentences=st.lists(st.lists(st.integers(3, 50), max_size=4), min_size=1, max_size=8),
    rows=st.integers(1, 20),
    beam_size=st.integers(1, 4),
    workers=st.integers(1, 3),
)
def test_neither_rows_nor_workers_change_anything(
    sentences: list[list[int]], rows: int, beam_size: int, workers: int
) -> None:
    engine, options = FakeEngine(), DecodingOptions(beam_size)
    closed = [[*ids, EOS] for ids in sentences]
    found = search(engine, closed, options, rows=rows, workers=workers)
    assert engine.largest_step <= max(rows, beam_size)
    for ids, hypotheses in zip(closed, found, strict=True):
        assert_equal(hypotheses, reference(ids, options, engine.spec.vocab_size))


def test_empty_sentence_has_the_empty_translation() -> None:
    found = search(FakeEngine(), [[], [5, EOS], []], DecodingOptions())
    assert found[0] == found[2] == [Hypothesis((), 0.0, False)]
    assert found[1][0].ids != ()


def test_vocabulary_smaller_than_the_beam() -> None:
    """Fewer continuations than beams leave beams empty instead of failing."""
    ids, options = [5, EOS], DecodingOptions(beam_size=4, n_best=4)
    found = search(FakeEngine(vocab_size=4), [ids], options)[0]
    assert_equal(found, reference(ids, options, 4))
