"""Texts in, texts out: what translates, in process or through a server."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

from serving.engine import Engine
from serving.options import DecodingOptions
from serving.request_options import Options
from serving.search import search
from serving.text import TextCodec

OnDone = Callable[[int], object]
"""Told how many more texts are done."""


@dataclasses.dataclass(frozen=True)
class Translation:
    """A translated text and the score of its hypothesis."""

    text: str
    score: float


class Translator(Protocol):
    """Translates texts; the hypotheses of each come best first."""

    def translate(
        self,
        texts: Sequence[str],
        options: Options,
        on_done: OnDone | None = None,
    ) -> list[list[Translation]]:
        """Translate each text; `on_done` is told how many more are done."""
        ...


class SentenceTranslator:
    """Translates in this process with any engine; each text is one sentence, as it is.

    So models are scored: nothing is split, masked or put back.
    """

    def __init__(
        self,
        engine: Engine,
        codec: TextCodec,
        workers: int = 1,
        symbols: frozenset[int] = frozenset(),
    ) -> None:
        self._engine = engine
        self._codec = codec
        self._workers, self._symbols = workers, symbols

    def translate(
        self,
        texts: Sequence[str],
        options: DecodingOptions,
        on_done: OnDone | None = None,
    ) -> list[list[Translation]]:
        """Translate all texts in one batch that is refilled as sentences end."""
        sentences = [self._codec.encode(text) for text in texts]
        blank = sum(not ids for ids in sentences)
        if blank and on_done:
            on_done(blank)
        found = search(
            self._engine,
            sentences,
            options,
            on_done=on_done,
            workers=self._workers,
            symbols=self._symbols,
        )
        return [
            [Translation(self._codec.decode(h.ids), h.score) for h in hypotheses]
            for hypotheses in found
        ]
