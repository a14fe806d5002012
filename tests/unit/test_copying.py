"""Sentences split around their symbols, and requests that are completed that way."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from serving.batch import Hypothesis, Sentence, Translations
from serving.copying import Split, translate
from serving.errors import DragomanError
from serving.options import DecodingOptions
from serving.scheduler import Scheduler
from serving.search import search
from tests.unit.fake_engine import EOS, FakeEngine
from tests.unit.watched_engine import WatchedEngine, at_step

SYMBOLS = frozenset({3, 4, 5})
TIGHT = DecodingOptions(beam_size=2, n_best=2, max_length=4)
"""Too short for two symbols and all that this model says."""


def split(ids: list[int], prefix: tuple[int, ...] = ()) -> Any:
    found = Split.of([*ids, EOS], prefix, SYMBOLS)
    return found.begin, [tuple(part) for part in found.parts]


def test_a_source_is_split_at_its_symbols() -> None:
    parts = [((30, 31, EOS), (), (4,)), ((), (), (3,)), ((32, EOS), (), ())]
    assert split([30, 31, 4, 3, 32]) == ((), parts)
    assert split([4]) == ((), [((), (), (4,)), ((), (), ())])


def test_a_prefix_stands_for_the_source_up_to_its_last_symbol() -> None:
    assert split([30, 4, 31, 3], (8, 4, 9)) == ((8, 4), [((31, EOS), (9,), (3,)), ((), (), ())])
    assert split([30, 4], (8,)) == ((), [((30, EOS), (8,), (4,)), ((), (), ())])
    assert split([4], (4, 9)) == ((4,), [((EOS,), (9,), ())])
    # What it passed over follows the next part.
    assert split([4, 30, 3, 31], (3,)) == ((3,), [((31, EOS), (), (4,))])


def test_parts_share_the_lengths() -> None:
    whole = DecodingOptions(min_length=9, max_length=12)
    source = (30, 31, 32, 4, 33, EOS)
    split = Split.of(source, (), SYMBOLS)
    parts = split.sentences(Sentence(source, whole, None, (), (7,)), 20)
    assert [(p.ids, p.ticket, p.index) for p in parts] == [
        ((30, 31, 32, EOS), 20, (7, 1)),
        ((33, EOS), 21, (7, 2)),
    ]
    assert [(p.options.min_length, p.options.max_length) for p in parts] == [(6, 7), (3, 3)]


def test_parts_and_symbols_are_joined_in_order() -> None:
    split = Split.of((30, 4, 31, EOS), (), SYMBOLS)
    first = [Hypothesis((8, 9), -1.0, False, (-0.5, -0.5, -0.1)), Hypothesis((9,), -3.0, True)]
    second = [Hypothesis((10,), -2.0, False, (-2.0, -0.2))]
    best, other = split.join([first, second], DecodingOptions(length_penalty=0.0))
    assert best.ids == (8, 9, 4, 10)
    assert best.token_scores == (-0.5, -0.5, 0.0, -2.0)
    assert best.score == pytest.approx(-3.3)
    assert (other.ids, other.truncated) == ((9, 4, 10), True)


def test_a_request_is_completed_with_its_symbols_even_while_closing() -> None:
    source = [30, 4, 31, 3, EOS]
    scheduler = Scheduler(FakeEngine(), rows=2, queue=1, symbols=SYMBOLS)
    future = scheduler.submit([source, [33, EOS]], TIGHT)
    scheduler.close()
    found = future.result(timeout=60)
    assert found == search(FakeEngine(), [source, [33, EOS]], TIGHT, symbols=SYMBOLS)
    for hypothesis in found[0]:
        assert [token for token in hypothesis.ids if token in SYMBOLS] == [4, 3]


def test_cancelling_the_whole_ends_its_parts() -> None:
    engine, submitted = WatchedEngine(), threading.Event()
    futures: list[Future[Translations]] = []

    def cancel() -> None:
        assert submitted.wait(timeout=60)
        futures[0].cancel()

    at_step(engine, 5, cancel)  # its first search ends with the fourth step
    with Scheduler(engine, symbols=SYMBOLS) as scheduler:
        future = scheduler.submit([[30, 4, 31, 3, 32, EOS]], TIGHT)
        futures.append(future)
        submitted.set()
        assert concurrent.futures.wait([future], timeout=60).done
        assert scheduler.submit([[33, EOS]], TIGHT).result(timeout=60)
        assert future.cancelled()
        counters = scheduler.counters()
        assert (counters.waiting, counters.in_flight) == (0, 0)


def test_an_error_of_the_parts_is_the_whole_requests() -> None:
    futures: list[Future[Translations]] = []

    def submit(
        sentences: Sequence[Sentence[int]],
        joined: Callable[[], object] | None,
        accepted: bool,
    ) -> Future[Translations]:
        assert accepted == bool(futures)
        futures.append(Future())
        return futures[-1]

    whole = translate([Sentence([30, 4, EOS], TIGHT, 0)], SYMBOLS, submit)
    futures[0].set_result([[Hypothesis((8,), -1.0, True, (-1.0,))]])
    assert not whole.done()
    futures[1].set_exception(DragomanError("broken"))
    with pytest.raises(DragomanError, match="broken"):
        whole.result(timeout=0)
    assert isinstance(whole.exception(), DragomanError)
