"""The queue of the scheduler: fair between requests, groups of similar length, no starvation."""

from __future__ import annotations

import collections
import weakref
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.batch import Sentence
from serving.options import DecodingOptions
from serving.waiting import GROUP_TOKENS, ROUND_TOKENS, SHORT_TOKENS, Share, Waiting

MANY = 10**9


def sentence(name: str, length: int = 20, beam_size: int = 4) -> Sentence[str]:
    return Sentence([5] * length, DecodingOptions(beam_size), name)


def request(name: str, count: int, length: int = 20, beam_size: int = 4) -> list[Sentence[str]]:
    return [sentence(name, length, beam_size) for _ in range(count)]


def take(waiting: Waiting[str, str], rows: int = MANY, tokens: int = MANY) -> list[str]:
    return [s.ticket for s in waiting.take(rows, tokens, anyway=False)]


def take_one(waiting: Waiting[str, str]) -> str:
    """Whose turn it is: nothing fits beside it."""
    (taken,) = waiting.take(0, 0, anyway=True)
    return taken.ticket


def lengths(group: Sequence[Sentence[str]]) -> list[int]:
    return [len(s.ids) for s in group]


def test_a_new_request_passes_a_huge_one() -> None:
    waiting: Waiting[str, str] = Waiting()
    waiting.add("huge", request("huge", 1024))
    assert set(take(waiting)) == {"huge"}
    waiting.add("small", [sentence("small")])
    assert "small" in take(waiting)


def test_a_new_request_passes_many_huge_ones_after_a_round() -> None:
    waiting: Waiting[str, str] = Waiting()
    for name in range(50):
        waiting.add(f"huge {name}", request(f"huge {name}", 100))
    take_one(waiting)
    waiting.add("small", [sentence("small")])
    served = 0
    while take_one(waiting) != "small":
        served += 1
    cost = sentence("huge").tokens
    assert served <= 50 * -(-ROUND_TOKENS // cost)


def test_small_requests_come_in_order_of_arrival() -> None:
    waiting: Waiting[str, str] = Waiting()
    for name in "abcdef":
        waiting.add(name, [sentence(name)])
    assert "".join(take_one(waiting) for _ in "abcdef") == "abcdef"
    assert len(waiting) == 0


@pytest.mark.parametrize("beams", [(1, 8), (4, 4), (2, 5)])
def test_huge_requests_share_by_what_their_sentences_cost(beams: tuple[int, int]) -> None:
    waiting: Waiting[str, str] = Waiting()
    for name, beam_size in zip("ab", beams, strict=True):
        waiting.add(name, request(name, 2000 // beam_size, beam_size=beam_size))
    cost = {name: sentence(name, 20, k).tokens for name, k in zip("ab", beams, strict=True)}
    served = dict.fromkeys("ab", 0)
    for _ in range(200):
        name = take_one(waiting)
        served[name] += cost[name]
        assert abs(served["a"] - served["b"]) <= ROUND_TOKENS + sum(cost.values())


def test_an_endless_stream_of_small_requests_does_not_starve_a_huge_one() -> None:
    waiting: Waiting[str, str] = Waiting()
    waiting.add("huge", request("huge", 100))
    for number in range(10):
        waiting.add(f"small {number}", [sentence("small")])
    served = []
    for turn in range(100 * (10 + 1)):
        served.append(take_one(waiting))
        if served[-1] == "small":
            waiting.add(f"more {turn}", [sentence("small")])
    assert served.count("huge") == 100


def test_what_does_not_fit_is_waited_for() -> None:
    """Narrow sentences that came later do not take the rows that a wide one needs."""
    waiting: Waiting[str, str] = Waiting()
    waiting.add("wide", [sentence("wide", beam_size=8)])
    waiting.add("narrow", request("narrow", 10, beam_size=1))
    assert take(waiting, rows=7) == []
    assert take(waiting, rows=8) == ["wide"]
    assert take(waiting, rows=7) == ["narrow"] * 7
    assert len(waiting) == 3


def test_tokens_are_waited_for_as_rows_are() -> None:
    waiting: Waiting[str, str] = Waiting()
    long = sentence("long", 500)
    waiting.add("long", [long])
    waiting.add("short", [sentence("short")])
    assert take(waiting, tokens=long.tokens - 1) == []
    assert take(waiting, tokens=long.tokens) == ["long"]


def test_an_empty_batch_takes_what_never_fits() -> None:
    waiting: Waiting[str, str] = Waiting()
    waiting.add("wide", request("wide", 2, beam_size=8))
    assert waiting.take(4, MANY, anyway=False) == []
    assert lengths(waiting.take(4, MANY, anyway=True)) == [20]
    assert lengths(waiting.take(MANY, 4, anyway=True)) == [20]


def test_a_request_starts_with_its_longest_sentences() -> None:
    waiting: Waiting[str, str] = Waiting()
    waiting.add("a", [sentence("a", n) for n in (40, 3, 90, 300, 5, 80)])
    groups = [lengths(waiting.take(MANY, MANY, anyway=True)) for _ in range(4)]
    assert groups == [[300], [90, 80], [40], [5, 3]]


def test_a_group_holds_those_nearest_to_the_first() -> None:
    waiting: Waiting[str, str] = Waiting()
    for length in (30, 10, 200, 33, 17, 28, 45):
        waiting.add(f"{length}", [sentence("", length)])
    assert lengths(waiting.take(MANY, MANY, anyway=False)) == [30, 28, 33, 17]
    assert lengths(waiting.take(MANY, MANY, anyway=False)) == [10]
    assert lengths(waiting.take(MANY, MANY, anyway=False)) == [200]
    assert lengths(waiting.take(MANY, MANY, anyway=False)) == [45]


def test_dropped_requests_leave_no_trace() -> None:
    """Not even while a sentence that does not fit is at the head."""
    waiting: Waiting[str, str] = Waiting()
    waiting.add("wide", [sentence("wide", beam_size=8)])
    kept = []
    for name in range(200):
        dropped = request(f"{name}", 3)
        kept += [weakref.ref(s) for s in dropped]
        waiting.add(f"{name}", dropped)
        assert take(waiting, rows=1) == []
        waiting.drop(f"{name}")
        del dropped
    assert len(waiting) == 1
    assert sum(reference() is not None for reference in kept) <= 6
    waiting.drop("nobody")
    assert take(waiting) == ["wide"]


def test_a_request_is_dropped_after_some_of_it_was_taken() -> None:
    waiting: Waiting[str, str] = Waiting()
    waiting.add("a", request("a", 5))
    waiting.add("b", request("b", 1))
    assert take(waiting, rows=4) == ["a"]
    waiting.drop("a")
    assert len(waiting) == 1
    assert take(waiting) == ["b"]
    assert take(waiting) == []


actions = st.one_of(
    st.lists(st.tuples(st.integers(1, 700), st.integers(1, 8)), min_size=1, max_size=6),
    st.integers(0, 100),
    st.tuples(st.integers(0, 40), st.integers(0, 9000), st.booleans()),
)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.lists(actions, max_size=40))
def test_random_use(script: list[list[tuple[int, int]] | int | tuple[int, int, bool]]) -> None:
    """Nothing is lost, taken twice or taken after it was dropped; groups keep their limits."""
    waiting: Waiting[int, int] = Waiting()
    left: dict[int, int] = {}
    for owner, action in enumerate(script):
        if isinstance(action, list):
            waiting.add(owner, [Sentence([5] * n, DecodingOptions(k), owner) for n, k in action])
            left[owner] = len(action)
        elif isinstance(action, int):
            waiting.drop(action)
            left.pop(action, None)
        else:
            group = waiting.take(*action)
            check_group(group, *action)
            assert group or not (left and action[2])
            for taken in group:
                left[taken.ticket] -= 1
                left = {owner: count for owner, count in left.items() if count}
        assert len(waiting) == sum(left.values())
    while group := waiting.take(0, 0, anyway=True):
        assert len(group) == 1
        left[group[0].ticket] -= 1
    assert not any(left.values())


def check_group(group: Sequence[Sentence[int]], rows: int, tokens: int, anyway: bool) -> None:
    if len(group) > 1:
        sizes = [len(s.ids) for s in group]
        assert max(sizes) * len(sizes) <= GROUP_TOKENS
        assert max(sizes) <= max(SHORT_TOKENS, 2 * min(sizes))
    if len(group) > 1 or not anyway:
        assert sum(s.rows for s in group) <= rows
        assert sum(s.tokens for s in group) <= tokens


@settings(deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    taken=st.integers(0, 40),
    dropped=st.sets(st.integers(0, 5)),
    new=st.integers(1, 40),
)
def test_what_is_ahead_bounds_what_is_served_before(
    sizes: list[int], taken: int, dropped: set[int], new: int
) -> None:
    waiting: Waiting[str, str] = Waiting()
    for number, size in enumerate(sizes):
        waiting.add(f"old {number}", request("old", size, length=1 + number))
    for _ in range(min(taken, sum(sizes) - 1)):
        take_one(waiting)
    for number in dropped:
        waiting.drop(f"old {number}")
    added = request("new", new)
    ahead, others = waiting.ahead(added), len(waiting)
    assert ahead <= others
    assert waiting.ahead(request("huge", 1_000)) == others
    waiting.add("new", added)
    served = [take_one(waiting) for _ in range(len(waiting))]
    last = max(place for place, name in enumerate(served) if name == "new")
    assert served[:last].count("old") <= ahead


def test_little_is_ahead_of_a_sentence_when_a_huge_request_waits() -> None:
    waiting: Waiting[str, str] = Waiting()
    waiting.add("huge", request("huge", 1024))
    take_one(waiting)
    assert waiting.ahead([sentence("small")]) < 10
    assert waiting.ahead(request("huge", 1024)) == 1023


def held_share(rows: int, **held: int) -> Share[str]:
    return Share(rows, held)


def test_a_request_that_holds_its_share_is_passed_over() -> None:
    waiting: Waiting[str, str] = Waiting()
    waiting.add("huge", request("huge", 100, beam_size=4))
    waiting.add("small", [sentence("small")])
    full = held_share(16, huge=16)
    assert [s.ticket for s in waiting.take(MANY, MANY, False, share=full)] == ["small"]
    assert waiting.take(MANY, MANY, False, share=full) == []
    some = [s.ticket for s in waiting.take(MANY, MANY, False, share=held_share(16, huge=8))]
    assert some == ["huge", "huge"]
    assert len(waiting) == 98


def test_a_sentence_wider_than_the_share_gets_through_alone() -> None:
    waiting: Waiting[str, str] = Waiting()
    waiting.add("wide", request("wide", 3, beam_size=8))
    assert len(waiting.take(MANY, MANY, False, share=held_share(4))) == 1


@settings(deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 8)), min_size=1, max_size=6),
    rows=st.integers(1, 20),
)
def test_shares_lose_nothing_and_are_kept(sizes: list[tuple[int, int]], rows: int) -> None:
    waiting: Waiting[str, str] = Waiting()
    for number, (count, beam_size) in enumerate(sizes):
        waiting.add(str(number), request(str(number), count, 20, beam_size))
    taken: collections.Counter[str] = collections.Counter()
    while len(waiting):
        group = waiting.take(MANY, MANY, True, share=held_share(rows))
        assert group
        for ticket in {s.ticket for s in group}:
            held = [s.rows for s in group if s.ticket == ticket]
            assert len(held) == 1 or sum(held) <= rows
        taken.update(s.ticket for s in group)
    assert taken == {str(n): count for n, (count, _) in enumerate(sizes)}
