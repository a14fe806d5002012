"""Beam search as pure functions on arrays: score, select, finish, reorder.

The search (DESIGN decision 9): each step ranks the 2K best continuations of a sentence's K
live beams. Those that end in EOS become hypotheses, scored by log-probability divided by
((5 + |Y|) / 6)^alpha (Wu et al. 2016), |Y| counting EOS; the K best hypotheses are kept. The
first K others live on. A sentence is done when no live beam can beat the worst of the
hypotheses that are wanted of it, or at its length limit, where the live beams count as
hypotheses without EOS.

Axes: B sentences, K beams, C candidates a row, T target length. Sentences may differ in beam
size: K is the widest, and a narrower sentence's unused beams score -inf.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from serving.engine import Candidates, Ids, Scores

Doubles = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class BeamState:
    """The live beams and the kept hypotheses of B sentences.

    Attributes:
        score: (B, K) summed log-probability of each live beam; -inf is no beam.
        tokens: (B, K, T) what each live beam has written; T is the room, not the length.
        token_score: (B, K, T) the log-probability of each of these.
        length: (B,) tokens written by every live beam of the sentence.
        kept_score: (B, K) normalised scores, best first; -inf is none.
        kept_tokens: (B, K, T).
        kept_token_score: (B, K, T).
        kept_length: (B, K).
        beam_size: (B,) each sentence's own K.
        n_best: (B,) hypotheses that are wanted of each sentence, at most K.
        alpha: (B,) length penalty.
        limit: (B,) longest output, EOS included.
    """

    score: Doubles
    tokens: Ids
    token_score: Scores
    length: Ids
    kept_score: Doubles
    kept_tokens: Ids
    kept_token_score: Scores
    kept_length: Ids
    beam_size: Ids
    n_best: Ids
    alpha: Doubles
    limit: Ids

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which live beams there are, (B, K): the rows of a step, in this order."""
        exists: NDArray[np.bool_] = np.isfinite(self.score)
        return exists


@dataclasses.dataclass(frozen=True)
class Selection:
    """The 2K best continuations of each sentence, best first.

    Attributes:
        score: (B, 2K) summed log-probability; -inf beyond the sentence's own 2K.
        beam: (B, 2K) the live beam that is continued.
        token: (B, 2K) the token that continues it.
        log_prob: (B, 2K) that token's own log-probability.
    """

    score: Doubles
    beam: Ids
    token: Ids
    log_prob: Scores


def start(beam_size: Ids, n_best: Ids, alpha: Doubles, limit: Ids) -> BeamState:
    """The state before the first step: one live beam a sentence, empty.

    Args:
        beam_size: (B,).
        n_best: (B,).
        alpha: (B,).
        limit: (B,).
    """
    batch, width, room = len(beam_size), int(beam_size.max()), int(limit.max())
    score = np.full((batch, width), -np.inf)
    score[:, 0] = 0.0
    return BeamState(
        score=score,
        tokens=np.zeros((batch, width, room), dtype=np.int64),
        token_score=np.zeros((batch, width, room), dtype=np.float32),
        length=np.zeros(batch, dtype=np.int64),
        kept_score=np.full((batch, width), -np.inf),
        kept_tokens=np.zeros((batch, width, room), dtype=np.int64),
        kept_token_score=np.zeros((batch, width, room), dtype=np.float32),
        kept_length=np.zeros((batch, width), dtype=np.int64),
        beam_size=beam_size,
        n_best=n_best,
        alpha=alpha,
        limit=limit,
    )


def length_penalty(length: Ids, alpha: Doubles) -> Doubles:
    """((5 + |Y|) / 6)^alpha, equation 14 of Wu et al. 2016."""
    penalty: Doubles = ((5.0 + length) / 6.0) ** alpha
    return penalty


def select(state: BeamState, candidates: Candidates) -> Selection:
    """Rank all beams' candidates together; ties go to the earlier beam, then candidate.

    Args:
        candidates: of the rows that are alive, C each, best first.
    """
    batch, width = state.score.shape
    count = min(candidates.log_prob.shape[1], 2 * width)  # of one beam, no more can be wanted
    alive = state.alive
    log_prob = np.full((batch, width, count), -np.inf, dtype=np.float32)
    log_prob[alive] = candidates.log_prob[:, :count]
    ids = np.zeros((batch, width, count), dtype=np.int64)
    ids[alive] = candidates.token[:, :count]
    total = state.score[:, :, None] + log_prob
    flat = (batch, width * count)
    total, log_prob, ids = total.reshape(flat), log_prob.reshape(flat), ids.reshape(flat)
    wanted = min(2 * width, width * count)
    order = np.argsort(-total, axis=1, kind="stable")[:, :wanted]
    row = np.arange(batch)[:, None]
    score = total[row, order]
    score[np.arange(wanted) >= 2 * state.beam_size[:, None]] = -np.inf
    return Selection(score, order // count, ids[row, order], log_prob[row, order])


def finish(state: BeamState, selection: Selection, eos_id: int) -> BeamState:
    """Keep the best K of the hypotheses so far and those that end in EOS now."""
    ended = (selection.token == eos_id) & np.isfinite(selection.score)
    rows = np.flatnonzero(ended.any(axis=1))
    if rows.size == 0:
        return state
    length = state.length[rows] + 1
    penalty = length_penalty(length, state.alpha[rows])[:, None]
    score = np.where(ended[rows], selection.score[rows] / penalty, -np.inf)
    place = (rows[:, None], selection.beam[rows])
    tokens, token_score = state.tokens[place], state.token_score[place]  # (R, 2K, T)
    row = np.arange(len(rows))
    tokens[row, :, length - 1] = eos_id
    token_score[row, :, length - 1] = selection.log_prob[rows]
    rank = -np.concatenate((state.kept_score[rows], score), axis=1)
    return _keep(state, rows, _Ended(score, tokens, token_score, length), rank)


def close(state: BeamState, beams: NDArray[np.bool_]) -> BeamState:
    """Live beams (B, K) that go no further follow the kept hypotheses, as ones without EOS."""
    rows = np.flatnonzero(beams.any(axis=1))
    if rows.size == 0:
        return state
    length = state.length[rows]
    penalty = length_penalty(length, state.alpha[rows])[:, None]
    score = np.where(beams[rows], state.score[rows] / penalty, -np.inf)
    rank = np.isneginf(np.concatenate((state.kept_score[rows], score), axis=1))
    ended = _Ended(score, state.tokens[rows], state.token_score[rows], length)
    return _keep(state, rows, ended, rank)


class _Ended(NamedTuple):
    """M new hypotheses of R sentences, those of a sentence all of one length.

    Attributes:
        score: (R, M) normalised; -inf is none.
        tokens: (R, M, T).
        token_score: (R, M, T).
        length: (R,).
    """

    score: Doubles
    tokens: Ids
    token_score: Scores
    length: Ids


def _keep(state: BeamState, rows: Ids, new: _Ended, rank: NDArray[np.generic]) -> BeamState:
    """Merge new hypotheses into the kept ones of `rows`.

    Those of the lowest rank (R, K + M) stay; of equals, the earlier.
    """
    width = state.kept_score.shape[1]
    best = np.argsort(rank, axis=1, kind="stable")[:, :width]

    def merged(kept: NDArray[Any], ended: NDArray[Any]) -> NDArray[Any]:
        everything = np.concatenate((kept[rows], ended), axis=1)
        copy = kept.copy()
        copy[rows] = everything[np.arange(len(rows))[:, None], best]
        return copy

    score = merged(state.kept_score, new.score)
    score[np.arange(width) >= state.beam_size[:, None]] = -np.inf
    return dataclasses.replace(
        state,
        kept_score=score,
        kept_tokens=merged(state.kept_tokens, new.tokens),
        kept_token_score=merged(state.kept_token_score, new.token_score),
        kept_length=merged(
            state.kept_length, np.broadcast_to(new.length[:, None], new.score.shape)
        ),
    )


def advance(state: BeamState, selection: Selection, eos_id: int) -> tuple[BeamState, Ids]:
    """Reorder: the first K continuations other than EOS become the live beams.

    Returns:
        The new state, and the beam (B, K) that each live beam continues.
    """
    batch, width = state.score.shape
    row = np.arange(batch)[:, None]
    alive = (selection.token != eos_id) & np.isfinite(selection.score)
    first = np.argsort(~alive, axis=1, kind="stable")[:, :width]  # the alive ones, in order
    lives = alive[row, first]
    lives &= np.arange(first.shape[1]) < state.beam_size[:, None]
    score = np.where(lives, selection.score[row, first], -np.inf)
    beam = np.where(lives, selection.beam[row, first], 0)
    token, log_prob = selection.token[row, first], selection.log_prob[row, first]
    missing = ((0, 0), (0, width - first.shape[1]))
    if missing[1][1]:  # fewer continuations than beams: a vocabulary smaller than K
        score = np.pad(score, missing, constant_values=-np.inf)
        beam, token = np.pad(beam, missing), np.pad(token, missing)
        log_prob = np.pad(log_prob, missing)
    tokens, token_score = state.tokens[row, beam], state.token_score[row, beam]
    newest = np.minimum(state.length, tokens.shape[2] - 1)
    tokens[row[:, 0], :, newest] = token
    token_score[row[:, 0], :, newest] = log_prob
    return dataclasses.replace(
        state, score=score, tokens=tokens, token_score=token_score, length=state.length + 1
    ), beam


def prune(state: BeamState) -> BeamState:
    """Without the live beams that can no longer become one of the hypotheses that are wanted.

    A log-probability only falls, so a beam's best possible score is its present one under the
    penalty of the longest output. What a useless beam keeps from living ranks below it, and is as
    useless, so the wanted hypotheses stay the same.
    """
    worst = state.kept_score[np.arange(len(state.score)), state.n_best - 1]
    if np.isneginf(worst).all():
        return state
    attainable = state.score / length_penalty(state.limit, state.alpha)[:, None]
    useless = attainable <= worst[:, None]
    return dataclasses.replace(state, score=np.where(useless, -np.inf, state.score))


def finished(state: BeamState) -> NDArray[np.bool_]:
    """Whether each sentence (B,) has no live beam left."""
    ended: NDArray[np.bool_] = np.isneginf(state.score).all(axis=1)
    return ended


def select_sentences(state: BeamState, sentences: Ids) -> BeamState:
    """The sentences at these indices; K and T shrink to what they need."""
    width = int(state.beam_size[sentences].max())
    room = int(state.limit[sentences].max())

    cut = {1: np.s_[:], 2: np.s_[:, :width], 3: np.s_[:, :width, :room]}
    fields = {f.name: getattr(state, f.name) for f in dataclasses.fields(state)}
    return BeamState(**{name: array[sentences][cut[array.ndim]] for name, array in fields.items()})


_FILL = {"score": -np.inf, "kept_score": -np.inf}


def join_sentences(first: BeamState, second: BeamState) -> BeamState:
    """The sentences of both states, second's after first's; K and T grow to the larger."""
    joined = {}
    for field in dataclasses.fields(BeamState):
        one, two = getattr(first, field.name), getattr(second, field.name)
        shape = np.maximum(one.shape[1:], two.shape[1:])
        both = np.full((len(one) + len(two), *shape), _FILL.get(field.name, 0), dtype=one.dtype)
        for array, place in ((one, both[: len(one)]), (two, both[len(one) :])):
            place[tuple(map(slice, array.shape))] = array
        joined[field.name] = both
    return BeamState(**joined)
