"""BLEU by the length of the source sentence, in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from model.evaluation import Scores

Scoring = Callable[[Sequence[str], Sequence[str]], Scores]
"""Translations and references to scores."""


@dataclasses.dataclass(frozen=True)
class LengthScore:
    """BLEU on the sentences of some lengths; `words` is like 9-12 or 17+."""

    words: str
    sentences: int
    bleu: float


def parts_by_length(sources: Sequence[str], limits: Sequence[int]) -> dict[str, list[int]]:
    """Indices of the sentences in each part, the shortest first; every sentence is in one.

    Args:
        sources: sentences.
        limits: most words in each part but the last, rising; an empty line counts as short.
    """
    firsts = [1, *(limit + 1 for limit in limits)]
    names = [f"{first}-{last}" for first, last in zip(firsts, limits, strict=False)]
    parts: dict[str, list[int]] = {name: [] for name in [*names, f"{firsts[-1]}+"]}
    for index, source in enumerate(sources):
        place = sum(len(source.split()) > limit for limit in limits)
        parts[[*parts][place]].append(index)
    return parts


def scores_by_length(
    sources: Sequence[str],
    translations: Sequence[str],
    references: Sequence[str],
    limits: Sequence[int],
    score: Scoring,
) -> tuple[LengthScore, ...]:
    """BLEU of each part that is not empty."""
    return tuple(
        LengthScore(
            words,
            len(part),
            score([translations[i] for i in part], [references[i] for i in part]).bleu,
        )
        for words, part in parts_by_length(sources, limits).items()
        if part
    )
