"""The model `translate_stream`: a response for each sentence of a text, as soon as it is done."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from serving.assembly import Sentence, restored
from serving.errors import DEADLINE, DeadlineError
from serving.preparation import Prepared
from serving.text import TextProcessor
from serving.triton.answers import Arrays, failure
from serving.triton.asking import Asker, RefusalError
from serving.triton.decoding import Decoding
from serving.triton.interface import ResponseSender, Triton

WINDOW = 16
"""Sentences of one text that are asked for at a time, once the first is done: as many clients
of single sentences would have the same share of the engine."""


class Stream:
    """One text under way. Its sentences are asked for in their order, and sent as they are done.

    The first is asked for alone: nothing else of its text slows it down.
    """

    def __init__(
        self,
        triton: Triton,
        sender: ResponseSender,
        codec: TextProcessor,
        prepared: Prepared,
        until: float,
        ended: Callable[[], object],
    ) -> None:
        """Prepare.

        Args:
            triton: the module `triton_python_backend_utils`.
            sender: takes the responses.
            codec: the vocabulary.
            prepared: the text, alone.
            until: when its time is over, on time.monotonic's clock.
            ended: called once, when nothing more is sent.
        """
        self._triton, self._sender, self._codec = triton, sender, codec
        self._prepared, self._until, self._ended = prepared, until, ended
        (self._document,) = prepared.documents
        self._lock = threading.Lock()
        self._next, self._done, self._over = 0, 0, False

    @property
    def total(self) -> int:
        """Sentences of the text."""
        return len(self._prepared.sentences)

    def take(self) -> range:
        """The places of the sentences to be asked for now."""
        with self._lock:
            begin = self._next
            if not self._over:
                window = WINDOW if self._done else 1
                self._next = max(begin, min(self.total, self._done + window))
            return range(begin, self._next)

    def translate(self, place: int, ask: Asker) -> None:
        """Ask for a sentence and send what comes back."""
        try:
            if self._over:
                return
            if self._sender.is_cancelled():
                self.end()
                return
            left = self._until - time.monotonic()
            if left <= 0:
                raise DeadlineError(f"{DEADLINE}not all of the text was translated in time")
            finding = ask(self._prepared.sentences[place], self._decoding(place), left)
            attention = finding.attention[0] if finding.attention else None
            sentence = Sentence(finding.hypotheses[0], attention)
            self._send(place, restored(self._document, place, sentence, self._codec))
        except RefusalError as refusal:
            self.end(self._triton.InferenceResponse(output_tensors=[], error=refusal.error))
        except Exception as error:
            self.end(failure(self._triton, error))

    def send_blank(self) -> None:
        """A text without sentences is all that it says."""
        with self._lock:
            self._respond(self._arrays(0, "", before=self._document.between[0], after=""))
        self.end()

    def end(self, response: Any = None) -> None:
        """Send nothing after this response."""
        with self._lock:
            if self._over:
                return
            self._over = True
            final = self._triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL
            try:
                if response is not None:
                    self._sender.send(response)
                self._sender.send(flags=final)
            except Exception:  # the client has gone
                self._triton.Logger.log_info("the end of a stream was lost")
        self._ended()

    def _decoding(self, place: int) -> Decoding:
        prefix = self._prepared.prefixes.get(place)
        prefixes = {0: prefix} if prefix else {}
        options = self._prepared.decoding
        if options.seed is not None:  # each sentence is a request of its own, and its first
            options = dataclasses.replace(options, seed=(options.seed + place) % 2**63)
        return Decoding(options, prefixes, self._prepared.align)

    def _send(self, place: int, translation: str) -> None:
        between = self._document.between
        after = between[-1] if place == self.total - 1 else ""
        with self._lock:
            if self._over:
                return
            self._respond(self._arrays(place, translation, between[place], after))
            self._done += 1
            last = self._done == self.total
        if last:
            self.end()

    def _respond(self, arrays: Arrays) -> None:
        tensors = [self._triton.Tensor(name, array) for name, array in arrays.items()]
        self._sender.send(self._triton.InferenceResponse(output_tensors=tensors))

    def _span(self, place: int) -> tuple[int, int]:
        if not self.total:
            return 0, 0
        part = self._document.parts[place]
        return part.start, part.end

    def _arrays(self, place: int, translation: str, before: str, after: str) -> Arrays:
        start, end = self._span(place)
        texts = {"translation": translation, "before": before, "after": after}
        numbers = {
            "index": place,
            "total": self.total,
            "source_start": start,
            "source_end": end,
        }
        return {
            **{n: np.array([text.encode()], dtype=np.object_) for n, text in texts.items()},
            **{n: np.array([number], dtype=np.int32) for n, number in numbers.items()},
        }
