"""Sentences that wait for free rows, in an order that is fair between their requests.

Every sentence gets its place when it comes, so that no later one can push it back for ever: the
cost of what a request asks for, counted in tokens from its first sentence on, is cut into rounds,
and a new request starts in the round after the one being served. Within a round, sentences with
less before them in their own request go first. So a single sentence passes a request of a
thousand, and each of the thousand is reached after finitely many others, however many come.
"""

from __future__ import annotations

import collections
import dataclasses
import heapq
import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from serving.batch import Sentence, Ticket

Owner = TypeVar("Owner", bound=Hashable)

ROUND_TOKENS = 512
"""Cost of one request's share of a round: a sentence or two of usual length and beam size."""

GROUP_TOKENS = 512
"""Source tokens, padding included, encoded at once.

With the base model (D = 512, six layers, V = 37,000) a source token costs about half as much as a
row of a step, so a full group takes about as long as two steps of 128 rows, the most that what is
in flight has to wait. It is some ten times what leaves a full batch in one step.
"""

SHORT_TOKENS = 16
"""Sentences up to this length are encoded together, whatever the padding."""


class _Entry(NamedTuple, Generic[Owner, Ticket]):
    """A waiting sentence; entries compare by their first three fields, which differ."""

    round: int
    before: int
    """Tokens of the request's sentences before this one."""
    number: int
    owner: Owner
    sentence: Sentence[Ticket]


class _Left:
    """What still waits of a request: its sentences, also by their rounds, and their rows."""

    def __init__(self) -> None:
        self.count = 0
        self.rows = 0
        self.rounds: collections.Counter[int] = collections.Counter()


@dataclasses.dataclass(frozen=True)
class Share(Generic[Owner]):
    """How much of what is in flight one request may be.

    Attributes:
        rows: most of one request, however many of its sentences wait.
        held: rows in flight of each now.
    """

    rows: int
    held: Mapping[Owner, int]


class _PassedOver(Generic[Owner, Ticket]):
    """Entries whose turn it is, but whose requests hold their share.

    Attributes:
        entries: to be put back.
    """

    def __init__(self, share: Share[Owner] | None, left: Mapping[Owner, _Left]) -> None:
        self.entries: list[_Entry[Owner, Ticket]] = []
        self._share, self._left = share, left
        self._held = collections.Counter(share.held if share else {})
        self._taken: collections.Counter[Owner] = collections.Counter()
        self._done: set[Owner] = set()

    @property
    def all(self) -> bool:
        """Whether nothing that waits may be taken."""
        return len(self._done) == len(self._left)

    def over(self, entry: _Entry[Owner, Ticket]) -> bool:
        """Whether to pass over an entry, which is noted."""
        if self._share is None:
            return False
        held = self._held[entry.owner]
        if not held or held + entry.sentence.rows <= self._share.rows:
            return False
        self.entries.append(entry)
        self._done.add(entry.owner)
        return True

    def taken(self, entry: _Entry[Owner, Ticket]) -> None:
        """An entry is part of the group."""
        owner = entry.owner
        self._held[owner] += entry.sentence.rows
        self._taken[owner] += 1
        if self._taken[owner] == self._left[owner].count:
            self._done.add(owner)


class Waiting(Generic[Owner, Ticket]):
    """The queue of all requests' sentences. An owner stands for a request. Not thread-safe."""

    def __init__(self) -> None:
        self._heap: list[_Entry[Owner, Ticket]] = []
        self._left: dict[Owner, _Left] = {}
        self._rounds: collections.Counter[int] = collections.Counter()
        self._count = 0
        self._rows = 0
        self._round = 0
        self._numbers = itertools.count()

    def __len__(self) -> int:
        """Sentences that wait."""
        return self._count

    @property
    def rows(self) -> int:
        """Rows of all that waits."""
        return self._rows

    @property
    def next_rows(self) -> int:
        """Rows of the sentence whose turn it is; 0 if none waits."""
        self._skip_dropped()
        return self._heap[0].sentence.rows if self._heap else 0

    def ahead(self, sentences: Sequence[Sentence[Ticket]]) -> int:
        """How many that wait would be served before the last of these, were they added now.

        A sentence alone is hardly behind a request of a thousand, of which the most come later.
        """
        tokens = [sentence.tokens for sentence in sentences]
        last = self._turn(sum(tokens) - min(tokens, default=0))
        return sum(count for turn, count in self._rounds.items() if turn <= last)

    def add(self, owner: Owner, sentences: Sequence[Sentence[Ticket]]) -> None:
        """Queue the sentences of a new request; the longest is served first."""
        before, left = 0, _Left()
        for sentence in sorted(sentences, key=lambda s: -len(s.ids)):
            turn = self._turn(before)
            entry = _Entry(turn, before, next(self._numbers), owner, sentence)
            heapq.heappush(self._heap, entry)
            left.count += 1
            left.rows += sentence.rows
            left.rounds[turn] += 1
            before += sentence.tokens
        self._left[owner] = left
        self._rounds += left.rounds
        self._count += len(sentences)
        self._rows += left.rows

    def drop(self, owner: Owner) -> None:
        """Forget what still waits of a request, if anything does."""
        left = self._left.pop(owner, _Left())
        self._rounds -= left.rounds
        self._count -= left.count
        self._rows -= left.rows
        if len(self._heap) > 2 * self._count:  # mostly dropped entries
            self._heap = [entry for entry in self._heap if entry.owner in self._left]
            heapq.heapify(self._heap)

    def take(
        self,
        rows: int,
        tokens: int,
        anyway: bool,
        beside: Sequence[Sentence[Ticket]] = (),
        room: Callable[[], Callable[[Sentence[Ticket]], bool]] = lambda: lambda _: True,
        share: Share[Owner] | None = None,
    ) -> list[Sentence[Ticket]]:
        """Remove the next group to encode.

        The group holds the sentence whose turn it is and, of those whose turn comes next and that
        fit beside it, the ones nearest to its length. While it does not fit, nothing is taken:
        what becomes free is kept for it.

        Args:
            rows: free rows.
            tokens: that memory holds. Every sentence has as much of it as the widest, since keys
                and values lie in rectangular arrays.
            anyway: take the first even where it does not fit; for an empty batch.
            beside: sentences in flight.
            room: the engine's; asked only where a sentence waits.
            share: what a request may hold; those that hold it are passed over.

        Returns:
            Sentences of similar length, with at most GROUP_TOKENS tokens if they are several.
        """
        fitting = self._pop_fitting(rows, tokens, anyway, beside, room, share)
        if not fitting:
            return []
        self._round = fitting[0].round
        group, others = _split(fitting)
        for entry in others:
            heapq.heappush(self._heap, entry)
        for entry in group:
            self._count_down(entry)
        return [entry.sentence for entry in group]

    def _pop_fitting(
        self,
        rows: int,
        tokens: int,
        anyway: bool,
        beside: Sequence[Sentence[Ticket]],
        room: Callable[[], Callable[[Sentence[Ticket]], bool]],
        share: Share[Owner] | None,
    ) -> list[_Entry[Owner, Ticket]]:
        fitting: list[_Entry[Owner, Ticket]] = []
        if not self._skip_dropped():
            return fitting
        reserve = room()
        passed: _PassedOver[Owner, Ticket] = _PassedOver(share, self._left)
        count, widest = len(beside), max((s.tokens for s in beside), default=0)
        while self._skip_dropped() and not passed.all:
            entry = self._heap[0]
            if passed.over(entry):
                heapq.heappop(self._heap)
                continue
            sentence = entry.sentence
            rows -= sentence.rows
            count, widest = count + 1, max(widest, sentence.tokens)
            full = rows < 0 or count * widest > tokens or not reserve(sentence)
            if full and (fitting or not anyway):
                break
            fitting.append(heapq.heappop(self._heap))
            passed.taken(entry)
            if full:
                break
        for entry in passed.entries:
            heapq.heappush(self._heap, entry)
        return fitting

    def _turn(self, before: int) -> int:
        """The round of a new request's sentence, by the tokens of its own before it."""
        return self._round + 1 + before // ROUND_TOKENS

    def _skip_dropped(self) -> bool:
        """Whether anything waits; if so, the top of the heap does."""
        while self._heap and self._heap[0].owner not in self._left:
            heapq.heappop(self._heap)
        return bool(self._heap)

    def _count_down(self, entry: _Entry[Owner, Ticket]) -> None:
        rows = entry.sentence.rows
        self._count -= 1
        self._rows -= rows
        left = self._left[entry.owner]
        left.rows -= rows
        left.count -= 1
        for rounds in (left.rounds, self._rounds):
            rounds[entry.round] -= 1
            if not rounds[entry.round]:
                del rounds[entry.round]
        if not left.count:
            del self._left[entry.owner]


Entries = list[_Entry[Owner, Ticket]]


def _split(
    entries: Entries[Owner, Ticket],
) -> tuple[Entries[Owner, Ticket], Entries[Owner, Ticket]]:
    """The first, with those nearest to its length that may be encoded with it; the others."""
    shortest = longest = first = len(entries[0].sentence.ids)
    nearest = sorted(entries, key=lambda entry: abs(len(entry.sentence.ids) - first))
    for count, entry in enumerate(nearest):
        length = len(entry.sentence.ids)
        shortest, longest = min(shortest, length), max(longest, length)
        alike = longest <= max(2 * shortest, SHORT_TOKENS)
        if count and not (alike and (count + 1) * longest <= GROUP_TOKENS):
            return nearest[:count], nearest[count:]
    return nearest, []
