"""CTranslate2 as a contender."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2

from bench.engines.contender import NO_LENGTH_PENALTY, WITH_SHORTLIST, Ids, Precision
from bench.engines.ctranslate2_spec import specification, tokens, vocabulary_map
from model.transformer import Transformer
from serving.options import EXTRA_TOKENS
from serving.shortlist import Shortlist

COMPUTE_TYPES: dict[Precision, str] = {"fp32": "float32", "int8": "int8"}


class CTranslate2Engine:
    """A translator on the CPU, in memory only: its files are gone once it has read them."""

    def __init__(
        self,
        transformer: Transformer,
        precision: Precision,
        threads: int,
        workers: int = 1,
        max_batch_size: int = 0,
        shortlist: Shortlist | None = None,
    ) -> None:
        """Convert and load.

        Args:
            threads: of each worker's matrix products.
            workers: batches translated side by side.
            max_batch_size: sentences of one batch; 0 for all that are handed over.
            shortlist: becomes its vocabulary map, if any.
        """
        self.name = "CTranslate2" + (WITH_SHORTLIST if shortlist else "")
        self._listed = shortlist is not None
        self.precision = precision
        self.max_batch_size = max_batch_size
        self._tokens = tokens(transformer.config)
        self._ids = {token: i for i, token in enumerate(self._tokens)}
        compute_type = COMPUTE_TYPES[precision]
        with tempfile.TemporaryDirectory() as folder:
            specification(transformer, compute_type).save(folder)
            if shortlist:
                content = vocabulary_map(transformer.config, shortlist)
                (Path(folder) / "vmap.txt").write_text(content, encoding="utf-8")
            self._translator = ctranslate2.Translator(
                folder,
                device="cpu",
                compute_type=compute_type,
                intra_threads=threads,
                inter_threads=workers,
            )

    def translate(
        self, sources: Sequence[Ids], beam_size: int, length: int | None = None
    ) -> list[list[int]]:
        """See `Contender`."""
        results = self._run(sources, beam_size, length, return_scores=False)
        return [[self._ids[token] for token in result.hypotheses[0]] for result in results]

    def translate_with_scores(
        self, sources: Sequence[Ids], beam_size: int, length: int | None = None
    ) -> list[tuple[list[int], float]]:
        """Best translations with their log-probabilities, EOS included."""
        results = self._run(sources, beam_size, length, return_scores=True)
        return [
            ([self._ids[token] for token in result.hypotheses[0]], result.scores[0])
            for result in results
        ]

    def _run(
        self, sources: Sequence[Ids], beam_size: int, length: int | None, return_scores: bool
    ) -> list[Any]:
        batch = [[self._tokens[i] for i in ids] for ids in sources]
        longest = max(map(len, batch)) + EXTRA_TOKENS
        results: list[Any] = self._translator.translate_batch(
            batch,
            max_batch_size=self.max_batch_size or len(batch),
            beam_size=beam_size,
            length_penalty=NO_LENGTH_PENALTY,
            min_decoding_length=length or 0,
            max_decoding_length=length or longest,
            return_scores=return_scores,
            use_vmap=self._listed,
        )
        return results
