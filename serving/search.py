"""Translate many sentences at once on one engine, for files, evaluation and tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from serving.batch import Batch, Hypothesis, Sentence
from serving.engine import Engine
from serving.options import DecodingOptions

DEFAULT_ROWS = 256
"""Rows of a step when throughput counts and latency does not."""


def search(
    engine: Engine,
    sentences: Sequence[Sequence[int]],
    options: DecodingOptions,
    rows: int = DEFAULT_ROWS,
    on_done: Callable[[int], object] | None = None,
    max_length: int | None = None,
) -> list[list[Hypothesis]]:
    """Beam search over all sentences, the longest first, refilled as sentences end.

    Args:
        sentences: source ids, each closed by EOS; an empty one has the empty translation.
        rows: most rows of one step, N.
        on_done: called with the number of sentences that just ended.
        max_length: longest output in tokens, EOS included (default: `max_output_length`).

    Returns:
        For each sentence its hypotheses, best first.
    """
    answers: list[list[Hypothesis]] = [[Hypothesis((), 0.0, False)] for _ in sentences]
    waiting = sorted((i for i, ids in enumerate(sentences) if ids), key=lambda i: len(sentences[i]))
    batch: Batch[int] = Batch(engine)
    room = max(1, rows // options.beam_size)
    while waiting or batch.sentences:
        free = room - len(batch.sentences)
        if waiting and 2 * free >= room:  # a half-empty batch: encoding pays in groups
            joining, waiting = waiting[-free:], waiting[:-free]
            batch.join([Sentence(sentences[i], options, i, max_length) for i in reversed(joining)])
        ended = batch.step()
        for sentence, hypotheses in ended:
            answers[sentence.ticket] = hypotheses
        if ended and on_done:
            on_done(len(ended))
    return answers
