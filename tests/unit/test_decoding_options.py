"""Options of the search against the list-based reference, alone, together, in mixed batches."""

from __future__ import annotations

import collections
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.batch import Batch, Hypothesis, Sentence
from serving.options import DecodingOptions
from serving.scheduler import Scheduler
from serving.search import search
from tests.unit.fake_engine import EOS, FakeEngine, next_log_probs
from tests.unit.reference_beam import Case, Found, decode
from tests.unit.test_beam_search import assert_equal

V = 20
SYMBOLS = frozenset({3, 4, 5})

ALONE: dict[str, dict[str, Any]] = {
    "min_length": {"min_length": 6},
    "max_length": {"max_length": 3},
    "repetition_penalty": {"repetition_penalty": 2.5},
    "no_repeat_unigram": {"no_repeat_ngram_size": 1},
    "no_repeat_bigram": {"no_repeat_ngram_size": 2, "min_length": 9},
    "suppress": {"suppress": ((7,), (8, 9), (10, 10), (9, EOS), (V + 5, 3))},
    "temperature": {"temperature": 1.5, "seed": 3},
    "top_k": {"temperature": 3.0, "top_k": 2, "seed": 4},
    "top_p": {"temperature": 1.0, "top_p": 0.4, "seed": 5},
}


def reference(case: Case) -> list[Found]:
    model = functools.partial(next_log_probs, case.source, vocab_size=V)
    return decode(model, EOS, case)


def together(
    cases: Sequence[Case], joins: Sequence[int], symbols: frozenset[int]
) -> dict[int, list[Hypothesis]]:
    """Sentences in one batch, so many of which join before each step."""
    batch: Batch[int] = Batch(FakeEngine(V), symbols)
    waiting = [Sentence(c.source, c.options, n, c.prefix, c.index) for n, c in enumerate(cases)]
    counts, answers = collections.deque(joins), dict[int, list[Hypothesis]]()
    while waiting or batch.sentences:
        count = counts.popleft() if counts else len(waiting)
        if waiting and (count or not batch.sentences):
            batch.join(waiting[: max(1, count)])
            waiting = waiting[max(1, count) :]
        answers.update({sentence.ticket: found for sentence, found in batch.step()})
    return answers


@pytest.mark.parametrize("name", ALONE)
def test_an_option_alone(name: str) -> None:
    random = np.random.default_rng(len(name))
    for beam_size in (1, 2, 4):
        options = DecodingOptions(beam_size, 0.6, beam_size, **ALONE[name])
        for _ in range(6):
            source = (*random.integers(3, 90, random.integers(0, 4)).tolist(), EOS)
            found = search(FakeEngine(V), [source], options)[0]
            assert_equal(found, reference(Case(source, options)))


def test_options_do_what_they_say() -> None:
    """The reference could share a mistake with the search: these are facts of the results."""
    sources = [[n, n + 1, EOS] for n in range(30, 60)]

    def found(**changes: Any) -> list[Hypothesis]:
        options = DecodingOptions(2, n_best=2, **changes)
        return [h for one in search(FakeEngine(V), sources, options) for h in one]

    assert min(len(h.ids) for h in found()) < 6 <= min(len(h.ids) for h in found(min_length=6))
    assert max(len(h.ids) + (not h.truncated) for h in found(max_length=3)) == 3
    unique = found(no_repeat_ngram_size=1, min_length=8)
    assert all(len(set(h.ids)) == len(h.ids) for h in unique)
    assert any(7 in h.ids for h in found())
    assert not any(7 in h.ids for h in found(suppress=((7,),)))
    repeated = [len(h.ids) - len(set(h.ids)) for h in found(min_length=8)]
    penalised = found(min_length=8, repetition_penalty=3.0)
    assert sum(len(h.ids) - len(set(h.ids)) for h in penalised) < sum(repeated) / 3


@st.composite
def options(draw: st.DrawFn) -> DecodingOptions:
    beam_size = draw(st.integers(1, 4))
    min_length = draw(st.sampled_from([0, 0, 4, 9]))
    return DecodingOptions(
        beam_size,
        draw(st.sampled_from([0.0, 0.6])),
        draw(st.integers(1, beam_size)),
        min_length=min_length,
        max_length=draw(st.sampled_from([None, 10, 14])),
        repetition_penalty=draw(st.sampled_from([1.0, 1.0, 1.3, 5.0])),
        no_repeat_ngram_size=draw(st.sampled_from([0, 0, 1, 2, 3])),
        suppress=tuple(
            draw(st.lists(st.lists(st.integers(2, V), min_size=1, max_size=2).map(tuple)))[:3]
        ),
        temperature=draw(st.sampled_from([0.0, 0.0, 0.7, 3.0])),
        top_k=draw(st.sampled_from([1, 3, 16])),
        top_p=draw(st.sampled_from([0.3, 0.9, 1.0])),
        seed=draw(st.integers(0, 5)),
    )


@st.composite
def cases(draw: st.DrawFn, symbols: frozenset[int]) -> list[Case]:
    tokens = st.one_of(st.integers(3, 60), st.sampled_from(sorted(symbols or {9})))
    found = []
    for index in range(draw(st.integers(1, 5))):
        source = (*draw(st.lists(tokens, max_size=4)), EOS)
        prefix = tuple(draw(st.lists(st.integers(3, V - 1), max_size=3)))
        plain = draw(st.booleans())
        wishes = DecodingOptions() if plain else draw(options())
        found.append(Case(source, wishes, () if plain else prefix, symbols, (index,)))
    return found


@pytest.mark.parametrize("symbols", [frozenset[int](), SYMBOLS])
def test_all_options_in_mixed_company(symbols: frozenset[int]) -> None:
    """Sentences of different options join at different times; each is decoded as if alone."""

    @settings(deadline=None, max_examples=40, derandomize=True)
    @given(cases(symbols), st.lists(st.integers(0, 2), max_size=8))
    def play(sentences: list[Case], joins: list[int]) -> None:
        answers = together(sentences, joins, symbols)
        for number, case in enumerate(sentences):
            assert_equal(answers[number], reference(case))

    play()


@settings(deadline=None, max_examples=25, derandomize=True)
@given(st.lists(cases(SYMBOLS), min_size=1, max_size=3), st.integers(1, 2))
def test_scheduler_and_search_agree_and_copy_every_symbol(
    requests: list[list[Case]], workers: int
) -> None:
    """Also sentences that the length limit ends before their symbols have come."""
    engine = FakeEngine(V)
    with Scheduler(engine, rows=9, workers=workers, symbols=SYMBOLS) as scheduler:
        futures = [
            scheduler.submit(
                [case.source for case in request],
                request[0].options,
                prefixes=[case.prefix for case in request],
            )
            for request in requests
        ]
        answers = [future.result(timeout=60) for future in futures]
    for request, found in zip(requests, answers, strict=True):
        sources, prefixes = ([getattr(c, name) for c in request] for name in ("source", "prefix"))
        offline = search(engine, sources, request[0].options, prefixes=prefixes, symbols=SYMBOLS)
        assert found == offline
        for case, hypotheses in zip(request, found, strict=True):
            assert hypotheses
            for hypothesis in hypotheses:
                assert_symbols(case, hypothesis)


def assert_symbols(case: Case, hypothesis: Hypothesis) -> None:
    """Each symbol as often as in the source; a prefix may bring more."""
    limit = case.options.max_length
    begun = case.prefix[:limit]
    assert hypothesis.ids[: len(begun)] == begun
    for symbol in SYMBOLS:
        wanted = max(case.source.count(symbol), begun.count(symbol))
        assert hypothesis.ids.count(symbol) == wanted


def test_a_hypothesis_that_can_go_nowhere_ends() -> None:
    """Everything is suppressed after one token, or from the start."""
    nothing = tuple((token,) for token in range(V))
    for number, temperature in enumerate((0.0, 1.0)):
        wishes = DecodingOptions(2, suppress=nothing, temperature=temperature, seed=number)
        stuck = Sentence([30, EOS], wishes, 0, prefix=(8,))
        empty = Sentence([30, EOS], wishes, 1)
        other = Sentence([40, EOS], DecodingOptions(), 2)
        batch: Batch[int] = Batch(FakeEngine(V))
        batch.join([stuck, other, empty])
        answers: dict[int, list[Hypothesis]] = {}
        while batch.sentences:
            answers.update({sentence.ticket: found for sentence, found in batch.step()})
        assert [(h.ids, h.truncated) for h in answers[0]] == [((8,), True)]
        assert [(h.ids, h.truncated, h.score) for h in answers[1]] == [((), True, 0.0)]
        assert_equal(answers[2], reference(Case((40, EOS), DecodingOptions())))


def test_draws_differ_between_hypotheses_sentences_and_seeds_alone() -> None:
    source = (30, 31, EOS)
    wishes = DecodingOptions(8, n_best=8, temperature=2.0, seed=1)
    first = search(FakeEngine(V), [source, source], wishes)
    assert first == search(FakeEngine(V), [source, source], wishes, rows=8)
    assert len({h.ids for h in first[0]}) > 4
    assert [h.score for h in first[0]] == sorted((h.score for h in first[0]), reverse=True)
    assert first[0] != first[1], "a sentence's place in its request counts"
    anew = DecodingOptions(8, n_best=8, temperature=2.0)
    assert search(FakeEngine(V), [source], anew) != search(FakeEngine(V), [source], anew)


def test_draws_follow_the_probabilities() -> None:
    """The first tokens of 2,000 draws, within four standard errors."""
    source, count = (30, EOS), 2000
    wishes = DecodingOptions(1, temperature=2.0, max_length=1, seed=9)
    found = search(FakeEngine(V), [source] * count, wishes)
    log_probs = next_log_probs(source, (), V).astype(np.float64)
    weights = np.where(np.argsort(np.argsort(-log_probs)) < 16, np.exp(log_probs / 2), 0)
    expected = weights / weights.sum()
    drawn = collections.Counter((*h[0].ids, EOS)[0] for h in found)
    for token in range(V):
        error = np.sqrt(expected[token] * (1 - expected[token]) / count)
        assert abs(drawn[token] / count - expected[token]) <= 4 * error + 1e-9
