"""Attention of what was translated, by a thread of its own: the search goes on meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress

from serving.batch import Translations
from serving.engines.aligner import Aligner
from serving.triton.finding import Attention

Aligned = tuple[Translations, Sequence[Attention]]


class Aligning:
    """Loads the aligner when it is first needed."""

    def __init__(self, load: Callable[[], Aligner]) -> None:
        self._load, self._lock = load, threading.Lock()
        self._aligner: Aligner | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="dragoman-align")

    def after(
        self, translations: Future[Translations], sentences: Sequence[Sequence[int]]
    ) -> Future[Aligned]:
        """The translations with the attention of each best one, once they are there."""
        aligned: Future[Aligned] = Future()

        def work() -> None:
            with suppress(InvalidStateError):
                try:
                    found = translations.result()
                    aligned.set_result((found, self._align(sentences, found)))
                except BaseException as error:
                    aligned.set_exception(error)

        translations.add_done_callback(lambda _: self._pool.submit(work))
        return aligned

    def close(self) -> None:
        """Finish what was begun."""
        self._pool.shutdown()

    def _align(
        self, sentences: Sequence[Sequence[int]], translations: Translations
    ) -> Sequence[Attention]:
        with self._lock:
            self._aligner = self._aligner or self._load()
        best = [hypotheses[0].ids for hypotheses in translations]
        return self._aligner.align(sentences, best)
