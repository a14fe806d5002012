"""Whether a sentence's translation depends on the sentences beside it."""

from __future__ import annotations

import numpy as np
import pytest

from serving.batch import Batch, Hypothesis, Sentence
from serving.engine import Engine
from serving.options import DecodingOptions
from serving.search import search
from tests.parity.models import random_sentences


def assert_company_changes_nothing(engine: Engine, seed: int, tolerance: float) -> None:
    """Sentences that join and leave at random moments are translated as alone."""
    random = np.random.default_rng(seed)
    cases = [
        Sentence(ids, DecodingOptions(int(random.integers(1, 9))), n)
        for n, ids in enumerate(random_sentences(random, 15, 14))
    ]
    waiting = list(cases)
    batch: Batch[int] = Batch(engine)
    answers: dict[int, list[Hypothesis]] = {}
    while waiting or batch.sentences:
        count = int(random.integers(0, 3)) or not batch.sentences
        joining = waiting[:count]
        if joining and all(map(batch.room(), joining)):
            batch.join(joining)
            waiting = waiting[count:]
        answers.update({s.ticket: found for s, found in batch.step()})
    for case in cases:
        [alone] = search(engine, [case.ids], case.options)
        assert answers[case.ticket][0].ids == alone[0].ids
        assert answers[case.ticket][0].score == pytest.approx(alone[0].score, abs=tolerance)
