"""The model `translator`: ids in, the ids of the best hypotheses and their scores out."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import Protocol

import numpy as np

from serving.batch import Hypothesis
from serving.options import DecodingOptions
from serving.triton.answers import Arrays, Pending, answer_later
from serving.triton.inputs import check_count, required_input
from serving.triton.interface import Request, Triton
from serving.triton.options import input_options_of
from serving.triton.padding import check_ids, pad_rows, unpad_rows

Translations = list[list[Hypothesis]]


class Submitter(Protocol):
    """What the translator needs of a scheduler."""

    def submit(
        self, sentences: Sequence[Sequence[int]], options: DecodingOptions
    ) -> Future[Translations]:
        """Queue sentences; the future holds the hypotheses of each, best first."""
        ...


class Translator:
    """Hands requests to a scheduler and answers each when its sentences are done."""

    def __init__(self, triton: Triton, scheduler: Submitter, vocab_size: int) -> None:
        self._triton = triton
        self._scheduler = scheduler
        self._vocab_size = vocab_size

    def enqueue(self, request: Request) -> None:
        """Queue a request and return at once; every answer and every error goes to its sender.

        Answers hold `hypothesis_ids` (M, T), `hypothesis_lengths` (M,) and `score` (M,), with
        M = B x n_best, sentence by sentence and best first.
        """
        answer_later(self._triton, request, self._submit)

    def _submit(self, request: Request) -> Pending[Translations]:
        options = input_options_of(self._triton, request)
        sentences = unpad_rows(
            required_input(self._triton, request, "ids"),
            required_input(self._triton, request, "lengths"),
        )
        check_count(len(sentences))
        check_ids(sentences, self._vocab_size)
        future = self._scheduler.submit(sentences, options)
        return Pending(future, partial(_arrays, options.n_best))


def _arrays(n_best: int, translations: Translations) -> Arrays:
    rows = [row for hypotheses in translations for row in _exactly(n_best, hypotheses)]
    ids, lengths = pad_rows([row.ids for row in rows])
    score = np.array([row.score for row in rows], dtype=np.float32)
    return {"hypothesis_ids": ids, "hypothesis_lengths": lengths, "score": score}


def _exactly(count: int, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Every sentence has `count` entries: where the search found fewer, the last one again."""
    return [hypotheses[min(rank, len(hypotheses) - 1)] for rank in range(count)]
