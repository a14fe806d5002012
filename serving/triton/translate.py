"""The model `translator`: ids in, the ids of the best hypotheses and their scores out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Protocol

import numpy as np

from serving.batch import Hypothesis
from serving.options import DecodingOptions
from serving.ping import PING_ID
from serving.triton.answers import Arrays, Pending, answer_later
from serving.triton.inputs import check_count, required_input
from serving.triton.interface import Request, Triton
from serving.triton.open_requests import OpenRequest, OpenRequests
from serving.triton.options import input_options_of, seconds_of
from serving.triton.outcome import Outcome
from serving.triton.ragged import check_ids, flatten, split

Translations = list[list[Hypothesis]]


class Submitter(Protocol):
    """What the translator needs of a scheduler."""

    def submit(
        self,
        sentences: Sequence[Sequence[int]],
        options: DecodingOptions,
        joined: Callable[[], object] | None = None,
    ) -> Future[Translations]:
        """Queue sentences; the future holds the hypotheses of each, best first."""
        ...


class Translator:
    """Hands requests to a scheduler and answers each when its sentences are done."""

    def __init__(
        self,
        triton: Triton,
        scheduler: Submitter,
        vocab_size: int,
        open_requests: OpenRequests,
        ended: Callable[[OpenRequest, Outcome], object],
        deadline: float,
    ) -> None:
        """Prepare.

        Args:
            triton: the module `triton_python_backend_utils`.
            scheduler: translates.
            vocab_size: V.
            open_requests: where requests are held until they are answered.
            ended: told of each that was answered.
            deadline: most seconds that a request may take, whatever its client allows.
        """
        self._triton, self._scheduler, self._vocab_size = triton, scheduler, vocab_size
        self._open, self._ended, self._deadline = open_requests, ended, deadline

    def enqueue(self, request: Request) -> None:
        """Queue a request and return at once; every answer and every error goes to its sender.

        Answers hold flat `hypothesis_ids`, `hypothesis_lengths` (M,) and `score` (M,), with
        M = B x n_best, sentence by sentence and best first.
        """
        opened = OpenRequest(request.get_response_sender())
        submit = partial(self._submit, request, opened)
        if self._is_ping(request):
            answer_later(self._triton, opened, submit, answered=_forget)
            return
        self._open.add(opened)
        answer_later(self._triton, opened, submit, answered=partial(self._close, opened))

    def _is_ping(self, request: Request) -> bool:
        """Whether it is the launcher's question: it has its id, and nothing to translate."""
        if request.request_id() != PING_ID:
            return False
        lengths = self._triton.get_input_tensor_by_name(request, "lengths")
        return lengths is not None and not lengths.as_numpy().any()

    def _submit(self, request: Request, opened: OpenRequest) -> Pending[Translations]:
        opened.id = request.request_id()
        opened.seconds = min(self._deadline, seconds_of(request) or self._deadline)
        options = input_options_of(self._triton, request)
        sentences = split(
            required_input(self._triton, request, "ids"),
            required_input(self._triton, request, "lengths"),
        )
        check_count(len(sentences))
        check_ids(sentences, self._vocab_size)
        opened.sentences, opened.source_tokens = len(sentences), sum(map(len, sentences))
        future = self._scheduler.submit(sentences, options, opened.tell_joined)
        opened.future = future
        return Pending(future, partial(_arrays, opened, options.n_best))

    def _close(self, opened: OpenRequest, outcome: Outcome) -> None:
        self._open.remove(opened)
        self._ended(opened, outcome)


def _forget(_outcome: Outcome) -> None:
    pass


def _arrays(opened: OpenRequest, n_best: int, translations: Translations) -> Arrays:
    best = [hypotheses[0] for hypotheses in translations]
    opened.truncations = sum(hypothesis.truncated for hypothesis in best)
    opened.output_tokens = sum(len(h.ids) + (not h.truncated) for h in best)
    rows = [row for hypotheses in translations for row in _exactly(n_best, hypotheses)]
    ids, lengths = flatten([row.ids for row in rows])
    score = np.array([row.score for row in rows], dtype=np.float32)
    return {"hypothesis_ids": ids, "hypothesis_lengths": lengths, "score": score}


def _exactly(count: int, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Every sentence has `count` entries: where the search found fewer, the last one again."""
    return [hypotheses[min(rank, len(hypotheses) - 1)] for rank in range(count)]
