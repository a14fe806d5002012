"""What a sentence's options, its prefix and its reserved symbols forbid or demand at each step.

An edit makes a token impossible (blocked) or less likely (penalised) before the step chooses its
candidates, so that the search stays exact. Of rules that contradict each other, the prefix wins,
then the symbols that the source still owes, then what is blocked, then what is penalised.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serving.beam import BeamState
from serving.engine import IMPOSSIBLE, NEVER, Candidates, Edits, EngineSpec, Ids
from serving.options import DecodingOptions

_FREE = -1
"""Where a row is not forced to a token."""


class Constraint:
    """The rules for one sentence.

    Attributes:
        never: tokens that are blocked from its first to its last step.
        changes: whether anything else depends on what its beams have written.
    """

    def __init__(
        self,
        source: Sequence[int],
        prefix: Sequence[int],
        options: DecodingOptions,
        symbols: frozenset[int],
        spec: EngineSpec,
    ) -> None:
        """Read the rules.

        Args:
            source: its tokens; a translation has each symbol as often as they have.
            prefix: tokens that its translation begins with.
            options: of its search.
            symbols: reserved tokens that are copied, never made up.
            spec: of the model.
        """
        self._prefix, self._options, self._eos = prefix, options, spec.eos_id
        self._owed = collections.Counter(token for token in source if token in symbols)
        known = [s for s in options.suppress if max(s) < spec.vocab_size]
        foreign = sorted(symbols - set(self._owed))
        single = [s[0] for s in known if len(s) == 1 and s[0] not in self._owed]
        self.never = list(dict.fromkeys([*foreign, *single]))
        self._sequences = [(s[:-1], s[-1]) for s in known if len(s) > 1]
        self.changes = bool(
            prefix
            or self._owed
            or self._sequences
            or options.min_length
            or options.no_repeat_ngram_size
            or options.repetition_penalty != 1
        )

    def forced(self, length: int) -> int:
        """The token that must come after so many, or `_FREE`."""
        return self._prefix[length] if length < len(self._prefix) else _FREE

    def blocked(self, written: Ids) -> list[int]:
        """Tokens that may not follow these; what matters most comes first."""
        tokens = written.tolist()
        owed = self._owed - collections.Counter(tokens)
        found = list(self.never)
        if owed or len(tokens) < self._options.min_length:
            found.append(self._eos)
        found += [symbol for symbol in self._owed if symbol not in owed]
        for head, last in self._sequences:
            if tuple(tokens[-len(head) :]) == head:
                found.append(last)
        found += _followers(written, self._options.no_repeat_ngram_size)
        return [token for token in dict.fromkeys(found) if token not in owed]

    def penalised(self, written: Ids, blocked: Iterable[int]) -> list[int]:
        """Tokens that may follow, but are less likely; the newest comes first."""
        if self._options.repetition_penalty == 1:
            return []
        tokens = written.tolist()
        exempt = {*blocked, *(self._owed - collections.Counter(tokens))}
        return [token for token in dict.fromkeys(reversed(tokens)) if token not in exempt]

    def edits(self, written: Ids) -> Edits:
        """Of one row (1, M) that has written these tokens."""
        token = self.forced(len(written))
        if token != _FREE:  # its log-probability is all that is wanted
            only = Edits.none(1, 1)
            only.ids[...] = token
            return only
        blocked = self.blocked(written)
        penalised = self.penalised(written, blocked)
        edits = _blocks([*blocked, *penalised])
        edits.addend[:, len(blocked) :] = 0
        edits.factor[:, len(blocked) :] = self._options.repetition_penalty
        return edits


def _followers(written: Ids, size: int) -> list[int]:
    """Tokens that would complete an n-gram of that size a second time, the newest first."""
    if size == 0 or len(written) < size:
        return []
    grams = np.lib.stride_tricks.sliding_window_view(written, size)
    tail = written[len(written) - size + 1 :]
    again = (grams[:, :-1] == tail).all(axis=1)
    followers: list[int] = grams[again, -1][::-1].tolist()
    return followers


class Ruling(NamedTuple):
    """The constraints of one step's rows.

    Attributes:
        edits: of all rows.
        forced: (N,) the token that each must take, or `_FREE`.
    """

    edits: Edits
    forced: Ids

    def settled(self, found: Candidates, vocab_size: int) -> Candidates:
        """The candidates of an edited step, those that are impossible with -inf."""
        impossible = (found.log_prob < IMPOSSIBLE) | (found.token >= vocab_size)
        log_prob = np.where(impossible, np.float32(-np.inf), found.log_prob)
        token = found.token
        rows = np.flatnonzero(self.forced != _FREE)
        if rows.size:
            token = token.copy()
            log_prob[rows, 1:] = -np.inf
            log_prob[rows, 0] = found.edited[rows, 0]
            token[rows, 0] = self.forced[rows]
        return Candidates(log_prob, token, found.edited)


class Constraints:
    """Those of the sentences in flight. Where none has any, no step knows of it."""

    def __init__(self) -> None:
        self._each: list[Constraint] = []
        self._changing: list[int] = []
        self._always = Edits.none(0)
        """(B, M) of those whose edits never change; nothing for the others."""

    def join(self, sentences: Sequence[Constraint]) -> None:
        """Sentences follow those in flight."""
        before, self._each = len(self._each), [*self._each, *sentences]
        grown = Edits.none(len(self._each), self._always.width)
        grown.put(np.arange(before), self._always)
        own = {
            place: _blocks(one.never)
            for place, one in enumerate(sentences, before)
            if one.never and not one.changes
        }
        self._always = _with_own(grown, own) if own else grown
        self._find_changing()

    def select(self, sentences: Ids) -> None:
        """Keep the sentences at these places."""
        self._each = [self._each[i] for i in sentences]
        width = max((len(one.never) for one in self._each if not one.changes), default=0)
        kept = self._always.of(sentences)
        self._always = Edits(*(array[:, :width] for array in kept.arrays))
        self._find_changing()

    def now(self, search: BeamState, alive: NDArray[np.bool_]) -> Ruling | None:
        """What holds for the rows of the next step, the live beams (B, K); None for nothing."""
        if self._always.width == 0 and not self._changing:
            return None
        sentence, place = np.nonzero(alive)
        forced = np.full(len(sentence), _FREE, dtype=np.int64)
        edits = self._always.of(sentence)
        own: dict[int, Edits] = {}
        for index in self._changing:
            length = int(search.length[index])
            for row in np.flatnonzero(sentence == index).tolist():
                own[row] = self._each[index].edits(search.tokens[index, place[row], :length])
                forced[row] = self._each[index].forced(length)
        return Ruling(_with_own(edits, own) if own else edits, forced)

    def _find_changing(self) -> None:
        self._changing = [place for place, one in enumerate(self._each) if one.changes]


def _blocks(ids: Sequence[int]) -> Edits:
    """Edits (1, M) that make these impossible."""
    blocks = Edits.none(1, len(ids))
    blocks.ids[...] = ids
    blocks.addend[...] = NEVER
    return blocks


def _with_own(edits: Edits, own: Mapping[int, Edits]) -> Edits:
    """The edits (N, M) with some rows' own in their place, all as wide as the widest."""
    width = max(edits.width, *(one.width for one in own.values()), 0)
    result = Edits.none(len(edits.ids), width)
    result.put(np.arange(len(edits.ids)), edits)
    for row, one in own.items():
        result.put(np.array([row]), one)
    return result
