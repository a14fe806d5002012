"""Decoding in lists: slow, obvious, and the specification (DESIGN decision 9).

One sentence at a time. K beams; each step ranks all continuations of all live beams and takes
the 2K best. Those that end in EOS become hypotheses with score log-probability divided by
((5 + |Y|) / 6)^alpha, |Y| counting EOS; the K best hypotheses are kept. The first K of the
others live on. The search ends when K hypotheses are kept and no live beam can beat the worst,
even if it lost no more probability up to the length limit; or at the length limit, or where no
beam has a continuation: there live beams follow the kept hypotheses until there are K.

What options, prefix and symbols make of a model's log-probabilities is `edited`, token by token.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from serving.options import DecodingOptions, max_output_length

NextLogProbs = Callable[[tuple[int, ...]], Any]


@dataclasses.dataclass(frozen=True)
class Found:
    """A hypothesis: ids without EOS, its score, whether it was cut off, its log-probabilities."""

    ids: tuple[int, ...]
    score: float
    truncated: bool
    token_scores: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Case:
    """A sentence and all that is asked of it."""

    source: tuple[int, ...]
    options: DecodingOptions
    prefix: tuple[int, ...] = ()
    symbols: frozenset[int] = frozenset()
    index: tuple[int, ...] = (0,)

    @property
    def limit(self) -> int:
        """Longest output."""
        longest = max(len(self.source), len(self.prefix), self.options.min_length)
        return self.options.max_length or max_output_length(longest)

    def penalty(self, length: int) -> float:
        """What a hypothesis of that length is divided by."""
        return float(((5 + length) / 6) ** self.options.length_penalty)


def edited(case: Case, log_probs: Any, written: tuple[int, ...], eos: int) -> list[float]:
    """The log-probabilities with what is impossible at -inf, and what is penalised lower."""
    result = []
    for token in range(len(log_probs)):
        log_prob = float(log_probs[token])
        after = (*written, token)
        owed = case.symbols and written.count(token) < case.source.count(token)
        if len(written) < len(case.prefix):
            result.append(log_prob if token == case.prefix[len(written)] else -math.inf)
        elif token in case.symbols and owed:
            result.append(log_prob)
        elif token in case.symbols or _forbidden(case, after, eos):
            result.append(-math.inf)
        elif token in written:
            result.append(float(log_probs[token] * np.float32(case.options.repetition_penalty)))
        else:
            result.append(log_prob)
    return result


def _forbidden(case: Case, after: tuple[int, ...], eos: int) -> bool:
    options, written = case.options, after[:-1]
    if after[-1] == eos and len(written) < options.min_length:
        return True
    if after[-1] == eos and any(written.count(s) < case.source.count(s) for s in case.symbols):
        return True
    if any(after[-len(sequence) :] == sequence for sequence in options.suppress):
        return True
    size = options.no_repeat_ngram_size
    grams = [after[i : i + size] for i in range(len(after) - size + 1)]
    return size > 0 and bool(grams) and grams[-1] in grams[:-1]


def decode(next_log_probs: NextLogProbs, eos: int, case: Case) -> list[Found]:
    """The hypotheses of one sentence, best first."""
    if case.options.temperature > 0:
        return sample(next_log_probs, eos, case)
    return beam_search(next_log_probs, eos, case)[: case.options.n_best]


Beam = tuple[float, tuple[int, ...], tuple[float, ...]]
"""Its log-probability, its tokens, and theirs."""


def beam_search(next_log_probs: NextLogProbs, eos: int, case: Case) -> list[Found]:
    """The kept hypotheses of one sentence, best first."""
    beam_size = case.options.beam_size
    live: list[Beam] = [(0.0, (), ())]
    kept: list[Found] = []
    for _ in range(case.limit):
        continuations: list[Beam] = []
        for score, written, scores in live:
            log_probs = edited(case, next_log_probs(written), written, eos)
            ranked = sorted(range(len(log_probs)), key=lambda token: -log_probs[token])
            continuations += [
                (score + log_probs[t], (*written, t), (*scores, log_probs[t]))
                for t in ranked
                if log_probs[t] > -math.inf
            ]
        if not continuations:
            return [*kept, *(_cut_off(case, beam) for beam in live)][:beam_size]
        continuations.sort(key=lambda c: -c[0])
        best = continuations[: 2 * beam_size]
        kept += [_ended(case, beam) for beam in best if beam[1][-1] == eos]
        kept.sort(key=lambda hypothesis: -hypothesis.score)
        kept = kept[:beam_size]
        live = [beam for beam in best if beam[1][-1] != eos][:beam_size]
        if not live:
            return kept
        attainable = max(score for score, _, _ in live) / case.penalty(case.limit)
        if len(kept) == beam_size and attainable <= kept[-1].score:
            return kept
    return [*kept, *(_cut_off(case, beam) for beam in live)][:beam_size]


def sample(next_log_probs: NextLogProbs, eos: int, case: Case) -> list[Found]:
    """Drawn hypotheses: Gumbel's numbers decide, those of the sentence's own generator."""
    options = case.options
    assert options.seed is not None
    random = np.random.default_rng((options.seed, *case.index))
    live: list[Beam] = [(0.0, (), ())]
    found: list[Found] = []
    for length in range(case.limit):
        rows = live * options.n_best if length == 0 else live
        noise = random.gumbel(size=(len(rows), options.top_k))
        stuck: set[Beam] = set()
        live = []
        for (score, written, scores), numbers in zip(rows, noise, strict=True):
            log_probs = edited(case, next_log_probs(written), written, eos)
            token = draw(log_probs, options, numbers.tolist())
            if token is None:
                if length or not stuck:
                    found.append(_cut_off(case, (score, written, scores)))
                stuck.add((score, written, scores))
                continue
            beam = (score + log_probs[token], (*written, token), (*scores, log_probs[token]))
            if token == eos:
                found.append(_ended(case, beam))
            else:
                live.append(beam)
    found += [_cut_off(case, beam) for beam in live]
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


def draw(log_probs: list[float], options: DecodingOptions, noise: list[float]) -> int | None:
    """One token of the top k and the top p at that temperature."""
    possible = [token for token in range(len(log_probs)) if log_probs[token] > -math.inf]
    top = sorted(possible, key=lambda token: -log_probs[token])[: options.top_k]
    if not top:
        return None
    scaled = [(log_probs[token] - log_probs[top[0]]) / options.temperature for token in top]
    total = sum(math.exp(value) for value in scaled)
    best, chosen, before = -math.inf, top[0], 0.0
    for token, value, number in zip(top, scaled, noise, strict=False):
        if before / total < options.top_p and value + number > best:
            best, chosen = value + number, token
        before += math.exp(value)
    return chosen


def _ended(case: Case, beam: Beam) -> Found:
    score, tokens, scores = beam
    return Found(tokens[:-1], score / case.penalty(len(tokens)), False, scores)


def _cut_off(case: Case, beam: Beam) -> Found:
    score, tokens, scores = beam
    return Found(tokens, score / case.penalty(len(tokens)), True, scores)
