"""The model `translator`: ids in, the ids of the best hypotheses and their scores out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Protocol

from serving.batch import Translations, exactly
from serving.options import DecodingOptions
from serving.ping import PING_ID
from serving.triton.aligning import Aligning
from serving.triton.answers import Arrays, Pending, answer_later
from serving.triton.decoding import Decoding
from serving.triton.finding import Attention, Finding
from serving.triton.inputs import check_some, required_input
from serving.triton.interface import Request, Triton
from serving.triton.open_requests import OpenRequest, OpenRequests
from serving.triton.options import seconds_of
from serving.triton.outcome import Outcome
from serving.triton.ragged import check_ids, split

SENTENCES_A_DEADLINE = 1024
"""A request of more may take the deadline's time for each so many that it begins."""


class Submitter(Protocol):
    """What the translator needs of a scheduler."""

    def submit(
        self,
        sentences: Sequence[Sequence[int]],
        options: DecodingOptions,
        joined: Callable[[], object] | None = None,
        prefixes: Sequence[Sequence[int]] = (),
    ) -> Future[Translations]:
        """Queue sentences; the future holds the hypotheses of each, best first."""
        ...


class Translator:
    """Hands requests to a scheduler and answers each when its sentences are done."""

    def __init__(
        self,
        triton: Triton,
        scheduler: Submitter,
        aligning: Aligning,
        vocab_size: int,
        open_requests: OpenRequests,
        ended: Callable[[OpenRequest, Outcome], object],
        deadline: float,
    ) -> None:
        """Prepare.

        Args:
            triton: the module `triton_python_backend_utils`.
            scheduler: translates.
            aligning: gives attention where it is asked for.
            vocab_size: V.
            open_requests: where requests are held until they are answered.
            ended: told of each that was answered.
            deadline: most seconds that a request of usual size may take, whatever its client
                allows.
        """
        self._triton, self._scheduler, self._aligning = triton, scheduler, aligning
        self._vocab_size = vocab_size
        self._open, self._ended, self._deadline = open_requests, ended, deadline

    def enqueue(self, request: Request) -> None:
        """Queue a request and return at once; every answer and every error goes to its sender.

        Answers hold what `serving.triton.finding` says.
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

    def _submit(self, request: Request, opened: OpenRequest) -> Pending[Any]:
        opened.id = request.request_id()
        decoding = Decoding.of(self._triton, request)
        sentences = split(
            required_input(self._triton, request, "ids"),
            required_input(self._triton, request, "lengths"),
        )
        check_some(len(sentences))
        check_ids(sentences, self._vocab_size)
        opened.sentences, opened.source_tokens = len(sentences), sum(map(len, sentences))
        longest = self._deadline * -(-len(sentences) // SENTENCES_A_DEADLINE)
        opened.seconds = min(longest, seconds_of(request) or longest)
        prefixes = [decoding.prefixes.get(n, ()) for n in range(len(sentences))]
        future = self._scheduler.submit(sentences, decoding.options, opened.tell_joined, prefixes)
        opened.future = future
        arrays = partial(_arrays, opened, decoding.options.n_best)
        if decoding.align:
            aligned = self._aligning.after(future, sentences)
            return Pending(aligned, lambda found: arrays(*found))
        return Pending(future, arrays)

    def _close(self, opened: OpenRequest, outcome: Outcome) -> None:
        self._open.remove(opened)
        self._ended(opened, outcome)


def _forget(_outcome: Outcome) -> None:
    pass


def _arrays(
    opened: OpenRequest,
    n_best: int,
    translations: Translations,
    attention: Sequence[Attention] = (),
) -> Arrays:
    best = [hypotheses[0] for hypotheses in translations]
    opened.truncations = sum(hypothesis.truncated for hypothesis in best)
    opened.output_tokens = sum(len(h.ids) + (not h.truncated) for h in best)
    now = time.monotonic()
    seconds = ((opened.joined or now) - opened.arrived, now - opened.arrived)
    hypotheses = [exactly(n_best, found) for found in translations]
    return Finding(hypotheses, attention, seconds).arrays()
