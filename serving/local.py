"""Texts translated in this process, as a server translates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from serving.assembly import Answer, Sentence, assemble_all
from serving.batch import Translations, exactly
from serving.bundle import Bundle, find_bundle
from serving.engine import default_workers
from serving.engines.aligner import Aligner
from serving.preparation import Preparation, Prepared
from serving.request_options import Options
from serving.search import search
from serving.translator import OnDone, Translation


class LocalTranslator:
    """Documents in, documents out, with the model of a bundle; see `serving.translator`."""

    def __init__(self, bundle: Bundle, threads: int = 0) -> None:
        """Load the engine.

        Args:
            bundle: the model.
            threads: 0 is one a core.
        """
        self._bundle = bundle
        self._workers = default_workers(threads)
        self._engine = bundle.engine(threads, self._workers)
        self._prepare = Preparation.of(bundle)
        self._codec = self._prepare.codec
        self._confidence = bundle.confidence()
        self._aligner: Aligner | None = None

    def translate(
        self, texts: Sequence[str], options: Options, on_done: OnDone | None = None
    ) -> list[list[Translation]]:
        """Translate each text.

        Raises:
            RequestError: options that only the vocabulary can judge are impossible.
        """
        answers = self.answers(texts, options, on_done)
        return [
            [Translation(*pair) for pair in zip(one.translations, one.scores, strict=True)]
            for one in answers
        ]

    def answers(
        self, texts: Sequence[str], options: Options, on_done: OnDone | None = None
    ) -> list[Answer]:
        """Translate each text, with the details that the options ask for."""
        prepared = self._prepare(texts, options)
        sentences = prepared.sentences
        found = search(
            self._engine,
            sentences,
            prepared.decoding,
            on_done=_shares(len(sentences), len(texts), on_done),
            workers=self._workers,
            prefixes=[prepared.prefixes.get(place, ()) for place in range(len(sentences))],
            symbols=frozenset(self._codec.symbol_ids),
        )
        if on_done and not sentences:
            on_done(len(texts))
        return self._assembled(prepared, found, options)

    def _assembled(self, prepared: Prepared, found: Translations, options: Options) -> list[Answer]:
        count = prepared.decoding.n_best
        attention = self._attention(prepared, found)
        every = [
            Sentence(exactly(count, hypotheses), matrix)
            for hypotheses, matrix in zip(found, attention, strict=True)
        ]
        return assemble_all(
            prepared.documents, every, self._codec, count, options.return_ or (), self._confidence
        )

    def _attention(self, prepared: Prepared, found: Translations) -> Sequence[Any]:
        if not prepared.align:
            return [None] * len(found)
        self._aligner = self._aligner or self._bundle.aligner()
        best = [hypotheses[0].ids for hypotheses in found]
        return self._aligner.align(prepared.sentences, best)


def open_local(repository: str | Path, threads: int = 0) -> LocalTranslator:
    """The translator of a bundle's folder, or of a model repository's newest bundle.

    Raises:
        ConfigError: there is none.
    """
    return LocalTranslator(Bundle.open(find_bundle(Path(repository))), threads)


def _shares(parts: int, whole: int, on_done: OnDone | None) -> Callable[[int], object] | None:
    """Progress in parts, told as progress in a whole of another size."""
    if on_done is None:
        return None
    done = told = 0

    def tell(more: int) -> None:
        nonlocal done, told
        done += more
        share = done * whole // parts
        if share > told:
            on_done(share - told)
            told = share

    return tell
