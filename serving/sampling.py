"""Drawing tokens instead of searching: temperature, top-k and top-p over a step's candidates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serving.beam import BeamState, Doubles, Selection
from serving.engine import Candidates, Ids, Scores
from serving.options import DecodingOptions

NONE = -1
"""Drawn where a row has no candidate."""


class Sampler:
    """One sentence's random numbers.

    They come from the request's seed and the sentence's place in the request, so that neither
    its company nor the number of workers changes what is drawn.
    """

    def __init__(self, options: DecodingOptions, index: tuple[int, ...]) -> None:
        """Prepare.

        Args:
            options: with a seed; see `DecodingOptions.seeded`.
            index: the sentence's place in its request; see `serving.batch.Sentence`.
        """
        assert options.seed is not None
        self._options = options
        self._random = np.random.default_rng((options.seed, *index))

    def draw(self, log_prob: Scores) -> Ids:
        """Which candidate each row takes.

        Args:
            log_prob: (R, C) of the candidates, best first; -inf is none.

        Returns:
            (R,) places among the C, or `NONE`.
        """
        options = self._options
        noise = self._random.gumbel(size=(len(log_prob), options.top_k))
        weight = kept_weights(log_prob[:, : options.top_k], options)
        best = np.argmax(weight + noise[:, : weight.shape[1]], axis=1)
        return np.where(np.isneginf(log_prob[:, 0]), NONE, best)


def kept_weights(log_prob: Scores, options: DecodingOptions) -> Doubles:
    """Logarithms, up to a constant a row, of the probabilities to draw with: -inf is left out."""
    best = log_prob[:, :1].astype(np.float64)
    below = log_prob - np.where(np.isneginf(best), 0.0, best)  # 0 for the best
    with np.errstate(over="ignore"):  # at a very low temperature all others are impossible
        scaled: Doubles = below / options.temperature
    weight = np.exp(scaled)
    total = np.cumsum(weight, axis=1)
    before = (total - weight) / np.maximum(total[:, -1:], 1e-300)
    return np.where((before < options.top_p) | (options.top_p == 1), scaled, -np.inf)


def drawn(
    samplers: Sequence[Sampler | None], state: BeamState, searched: Selection, found: Candidates
) -> Selection:
    """The selection where sentences with a sampler have one token drawn for each of their rows.

    The first step's only row is drawn from for all hypotheses.
    """
    if not any(samplers):
        return searched
    counts = state.alive.sum(axis=1)
    first = np.cumsum(counts) - counts
    score, log_prob = searched.score.copy(), searched.log_prob.copy()
    beam, token = searched.beam.copy(), searched.token.copy()
    for index, sampler in enumerate(samplers):
        if sampler is None:
            continue
        places = np.flatnonzero(state.alive[index])
        rows = first[index] + np.arange(len(places))
        if state.length[index] == 0:
            hypotheses = int(state.beam_size[index])
            places, rows = places.repeat(hypotheses), rows.repeat(hypotheses)
        picks, new = sampler.draw(found.log_prob[rows]), slice(len(rows))
        beam[index, new] = places
        token[index, new] = found.token[rows, picks]
        log_prob[index, new] = np.where(picks == NONE, -np.inf, found.log_prob[rows, picks])
        score[index] = -np.inf
        score[index, new] = state.score[index, places] + log_prob[index, new]
    return Selection(score, beam, token, log_prob)
