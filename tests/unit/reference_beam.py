"""Beam search in lists: slow, obvious, and the specification (DESIGN decision 9).

One sentence at a time. K beams; each step ranks all continuations of all live beams and takes
the 2K best. Those that end in EOS become hypotheses with score log-probability divided by
((5 + |Y|) / 6)^alpha, |Y| counting EOS; the K best hypotheses are kept. The first K of the
others live on. The search ends when K hypotheses are kept and no live beam can beat the worst,
even if it lost no more probability up to the length limit; or at the length limit, where live
beams follow the kept hypotheses until there are K.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Found:
    """A hypothesis: ids without EOS, its score, and whether the limit ended it."""

    ids: tuple[int, ...]
    score: float
    truncated: bool


def beam_search(
    next_log_probs: Callable[[tuple[int, ...]], Any],
    eos: int,
    beam_size: int,
    alpha: float,
    limit: int,
) -> list[Found]:
    """The kept hypotheses of one sentence, best first."""

    def penalty(length: int) -> float:
        return float(((5 + length) / 6) ** alpha)

    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    kept: list[Found] = []
    for length in range(1, limit + 1):
        continuations = []
        for score, prefix in live:
            log_probs = next_log_probs(prefix)
            ranked = sorted(range(len(log_probs)), key=lambda token: -log_probs[token])
            continuations += [(score + float(log_probs[t]), prefix, t) for t in ranked]
        continuations.sort(key=lambda c: -c[0])
        best = continuations[: 2 * beam_size]
        for score, prefix, token in best:
            if token == eos:
                kept.append(Found(prefix, score / penalty(length), truncated=False))
        kept.sort(key=lambda hypothesis: -hypothesis.score)
        kept = kept[:beam_size]
        live = [(s, (*prefix, t)) for s, prefix, t in best if t != eos][:beam_size]
        if not live:
            return kept
        attainable = max(score for score, _ in live) / penalty(limit)
        if len(kept) == beam_size and attainable <= kept[-1].score:
            return kept
    truncated = [Found(prefix, s / penalty(limit), truncated=True) for s, prefix in live]
    return (kept + truncated)[:beam_size]
