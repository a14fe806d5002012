"""Texts in, texts out: what translates lines, in process or through a server."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

from serving.engine import Engine
from serving.options import DecodingOptions
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
        options: DecodingOptions,
        on_done: OnDone | None = None,
    ) -> list[list[Translation]]:
        """Translate each text; `on_done` is told how many more are done."""
        ...


class LocalTranslator:
    """Translates in this process, with any engine."""

    def __init__(self, engine: Engine, codec: TextCodec, workers: int = 1) -> None:
        self._engine = engine
        self._codec = codec
        self._workers = workers

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
        found = search(self._engine, sentences, options, on_done=on_done, workers=self._workers)
        return [
            [Translation(self._codec.decode(h.ids), h.score) for h in hypotheses]
            for hypotheses in found
        ]
