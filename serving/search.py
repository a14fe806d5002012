"""Translate many sentences at once on one engine, for files, evaluation and tests."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from serving.batch import Batch, Hypothesis, Sentence, Translations
from serving.copying import Repair
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
    workers: int = 1,
    prefixes: Sequence[Sequence[int]] = (),
    symbols: frozenset[int] = frozenset(),
) -> Translations:
    """Beam search over all sentences, the longest first, refilled as sentences end.

    Args:
        sentences: source ids, each closed by EOS; an empty one has the empty translation.
        rows: most rows of one step, N.
        on_done: called with the number of sentences that just ended.
        workers: batches side by side, each in a thread of its own.
        prefixes: tokens that the translation of each begins with; none at all by default.
        symbols: reserved tokens: a translation has each as often as its source.

    Returns:
        For each sentence its hypotheses, best first.
    """
    options = options.seeded()
    pairs = zip(sentences, prefixes or [()] * len(sentences), strict=True)
    whole = [
        Sentence(ids, options, index, tuple(prefix), (index,))
        for index, (ids, prefix) in enumerate(pairs)
    ]
    crowd = _Crowd(engine, symbols, max(1, rows // options.rows), workers)
    found = crowd.translate(whole, on_done)
    repair = Repair(whole, found, symbols)
    return repair.join(crowd.translate(repair.sentences)) if repair.sentences else found


@dataclasses.dataclass(frozen=True)
class _Crowd:
    """Batches side by side.

    Attributes:
        engine: what translates.
        symbols: see `search`.
        room: most sentences of a batch.
        workers: how many batches.
    """

    engine: Engine
    symbols: frozenset[int]
    room: int
    workers: int

    def translate(
        self,
        sentences: Sequence[Sentence[int]],
        on_done: Callable[[int], object] | None = None,
    ) -> Translations:
        """The hypotheses of each; a sentence's ticket is its place."""
        answers: Translations = [[Hypothesis((), 0.0, False)] for _ in sentences]
        waiting = sorted((s for s in sentences if s.ids), key=lambda s: len(s.ids))
        lock = threading.Lock()

        def work() -> None:
            batch: Batch[int] = Batch(self.engine, self.symbols)
            while waiting or batch.sentences:
                free = self.room - len(batch.sentences)
                # Nearly empty: those of a length and an age have the least padding between them.
                with lock:
                    joining = _take(waiting, free, batch) if 8 * free >= 7 * self.room else []
                if joining:
                    batch.join(joining)
                ended = batch.step()
                for sentence, hypotheses in ended:
                    answers[sentence.ticket] = hypotheses
                if ended and on_done:
                    with lock:
                        on_done(len(ended))

        if self.workers == 1 or len(waiting) <= self.room:  # one step holds all
            work()
        else:
            with ThreadPoolExecutor(self.workers) as pool:
                for future in [pool.submit(work) for _ in range(self.workers)]:
                    future.result()
        return answers


def _take(waiting: list[Sentence[int]], free: int, batch: Batch[int]) -> list[Sentence[int]]:
    """The last that wait, as many as a batch has room for; one at least where it is empty."""
    joining: list[Sentence[int]] = []
    reserve = batch.room()
    while waiting and len(joining) < free:
        full = not reserve(waiting[-1])
        if full and (joining or batch.sentences):
            break
        joining.append(waiting.pop())
        if full:
            break
    return joining
