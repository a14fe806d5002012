"""Translate many sentences at once on one engine, for files, evaluation and tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

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
    workers: int = 1,
) -> list[list[Hypothesis]]:
    """Beam search over all sentences, the longest first, refilled as sentences end.

    Args:
        sentences: source ids, each closed by EOS; an empty one has the empty translation.
        rows: most rows of one step, N.
        on_done: called with the number of sentences that just ended.
        max_length: longest output in tokens, EOS included (default: `max_output_length`).
        workers: batches side by side, each in a thread of its own.

    Returns:
        For each sentence its hypotheses, best first.
    """
    answers: list[list[Hypothesis]] = [[Hypothesis((), 0.0, False)] for _ in sentences]
    waiting = sorted((i for i, ids in enumerate(sentences) if ids), key=lambda i: len(sentences[i]))
    room = max(1, rows // options.beam_size)
    lock = threading.Lock()

    def take(free: int, batch: Batch[int]) -> list[Sentence[int]]:
        joining: list[Sentence[int]] = []
        reserve = batch.room()
        with lock:
            while waiting and len(joining) < free:
                index = waiting[-1]
                sentence = Sentence(sentences[index], options, index, max_length)
                full = not reserve(sentence)
                if full and (joining or batch.sentences):
                    break
                joining.append(sentence)
                waiting.pop()
                if full:
                    break
        return joining

    def work() -> None:
        batch: Batch[int] = Batch(engine)
        while waiting or batch.sentences:
            free = room - len(batch.sentences)
            # Nearly empty: those of a length and an age have the least padding between them.
            joining = take(free, batch) if 8 * free >= 7 * room else []
            if joining:
                batch.join(joining)
            ended = batch.step()
            for sentence, hypotheses in ended:
                answers[sentence.ticket] = hypotheses
            if ended and on_done:
                with lock:
                    on_done(len(ended))

    if workers == 1 or len(waiting) <= room:  # one step holds all
        work()
    else:
        with ThreadPoolExecutor(workers) as pool:
            for future in [pool.submit(work) for _ in range(workers)]:
                future.result()
    return answers
