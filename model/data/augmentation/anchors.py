"""Words of a pair of sentences that translate each other, one to one.

Two words are anchors where each is the other's most probable translation by IBM Model 1 and
stands once in its sentence; so are names and numbers that both sides spell alike.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from model.data.batches import Pairs
from model.data.corpus import Corpus
from model.lexical import Lexicon, learn

WORD = re.compile(r"\w+(?:[-'’]\w+)*")

ITERATIONS = 4
LEAST_PROBABILITY = 0.3
COMMON = 150
"""So many of the commonest words are none: articles, pronouns, what sentences are built of."""


class Anchor(NamedTuple):
    """Where a word and its translation stand: characters of the source and of the target."""

    source: tuple[int, int]
    target: tuple[int, int]


class Anchors:
    """Finds anchors, by what a corpus taught."""

    def __init__(self, translation: dict[str, str], common: frozenset[str]) -> None:
        """Keep each source word's translation, and the words that never are anchors."""
        self._translation, self._common = translation, common

    @classmethod
    def learn(cls, corpus: Corpus) -> Anchors:
        """Estimate which words translate each other."""
        source, target = (
            [WORD.findall(line) for line in side] for side in (corpus.source, corpus.target)
        )
        words = sorted({word for line in (*source, *target) for word in line})
        ids = {word: number for number, word in enumerate(words)}
        forth, back = _numbered(source, ids), _numbered(target, ids)
        best = _best(learn(Pairs.of(forth, back), len(words), ITERATIONS, _nothing))
        reverse = _best(learn(Pairs.of(back, forth), len(words), ITERATIONS, _nothing))
        mutual = {words[s]: words[t] for s, t in best.items() if reverse.get(t) == s}
        return cls(mutual, frozenset(_commonest(source) + _commonest(target)))

    def of(self, source: str, target: str) -> list[Anchor]:
        """The anchors of a pair, in the order of the source."""
        ours, theirs = _once(source), _once(target)
        found = []
        for word, place in ours.items():
            same = word in theirs and _same_everywhere(word)
            translation = word if same else self._translation.get(word, "")
            common = {word.lower(), translation.lower()} & self._common
            if translation in theirs and (word == translation or not common):
                found.append(Anchor(place, theirs[translation]))
        return found


def _same_everywhere(word: str) -> bool:
    """Whether it is a name or a number, if the other side has it too."""
    return len(word) > 1 and (word[0].isupper() or word[0].isdigit())


def _once(text: str) -> dict[str, tuple[int, int]]:
    """Words that stand once in a text, and where."""
    found: dict[str, list[tuple[int, int]]] = {}
    for match in WORD.finditer(text):
        found.setdefault(match.group(), []).append(match.span())
    return {word: places[0] for word, places in found.items() if len(places) == 1}


def _numbered(lines: Iterable[Sequence[str]], ids: dict[str, int]) -> list[list[int]]:
    """Words as numbers; the last of each line stands for the end of a tokenised sentence."""
    return [[*(ids[word] for word in line), 0] for line in lines]


def _commonest(lines: Iterable[Sequence[str]]) -> list[str]:
    counts = collections.Counter(word.lower() for line in lines for word in line)
    return [word for word, _ in counts.most_common(COMMON)]


def _best(lexicon: Lexicon) -> dict[int, int]:
    """The most probable translation of each word that has a probable one."""
    offsets, ids = lexicon.best(1)
    sources = np.flatnonzero(np.diff(offsets))
    targets = ids[offsets[sources]]
    _, probability = lexicon.lookup(sources * lexicon.vocab_size + targets)
    kept = probability >= LEAST_PROBABILITY
    return dict(zip(sources[kept].tolist(), targets[kept].tolist(), strict=True))


def _nothing() -> None:
    pass
