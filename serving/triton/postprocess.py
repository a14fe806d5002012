"""The model `postprocess`: ids of hypotheses and the documents around them in, texts out."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from serving.assembly import Answer, Sentence, assemble_all
from serving.confidence import Confidence
from serving.documents.document import Document
from serving.errors import RequestError
from serving.text import TextProcessor
from serving.triton.answers import Arrays
from serving.triton.finding import Attention, Finding
from serving.triton.inputs import required_input
from serving.triton.interface import Request, Triton
from serving.triton.ragged import check_ids, split
from serving.triton.wanted import WANTED, Wanted

LARGE = 500
"""Hypotheses of a request whose texts take long enough to be put off."""


class Postprocessor:
    """Turns the hypotheses of a request into texts."""

    def __init__(
        self, triton: Triton, codec: TextProcessor, confidence: Confidence | None = None
    ) -> None:
        self._triton, self._codec, self._confidence = triton, codec, confidence

    def is_large(self, request: Request) -> bool:
        """Whether its answer takes more than a moment."""
        tensor = self._triton.get_input_tensor_by_name(request, "hypothesis_lengths")
        return tensor is not None and tensor.as_numpy().size > LARGE

    def __call__(self, request: Request) -> Arrays:
        """Return `translation` and `score` of the n best of each text, and `details` of each text.

        Raises:
            RequestError: the inputs do not belong together, or an id is out of its range.
        """
        began = time.monotonic()
        array = partial(required_input, self._triton, request)
        if self._triton.get_input_tensor_by_name(request, "documents") is None:
            return self._plain(split(array("hypothesis_ids"), array("hypothesis_lengths")))
        wanted = Wanted.of(array(WANTED))
        documents = [_document(text) for text in array("documents").reshape(-1)]
        finding = Finding.of(array, max(1, sum(len(one.parts) for one in documents)))
        check_ids([h.ids for found in finding.hypotheses for h in found], self._codec.vocab_size)
        answers = self._answers(documents, finding, wanted)
        if "timings" in wanted.details:
            timings = _timings(wanted, finding, time.monotonic() - began)
            for answer in answers:
                answer.details["timings"] = timings
        return _arrays(answers)

    def _plain(self, rows: list[list[int]]) -> Arrays:
        """Each hypothesis is a text of its own."""
        check_ids(rows, self._codec.vocab_size)
        texts = [self._codec.decode(row) for row in rows]
        return _arrays([Answer([text], [0.0], {}) for text in texts])

    def _answers(self, documents: list[Document], finding: Finding, wanted: Wanted) -> list[Answer]:
        count = sum(len(document.parts) for document in documents)
        attention: Sequence[Attention | None] = finding.attention or [None] * count
        pairs = zip(finding.hypotheses[:count], attention[:count], strict=True)
        sentences = [Sentence(hypotheses, matrix) for hypotheses, matrix in pairs]
        return assemble_all(
            documents, sentences, self._codec, wanted.n_best, wanted.details, self._confidence
        )


def _document(text: bytes | str) -> Document:
    try:
        return Document.from_json(text.decode() if isinstance(text, bytes) else text)
    except Exception as error:  # anything may be in it
        raise RequestError(f"the input 'documents' cannot be read: {error!r}") from error


def _timings(wanted: Wanted, finding: Finding, seconds: float) -> dict[str, float]:
    """Seconds that each part took; the search's first includes waiting for its turn."""
    queued, searched = finding.seconds
    parts = {
        "preprocess": wanted.seconds,
        "queue": queued,
        "search": searched - queued,
        "postprocess": seconds,
    }
    return {name: round(value, 6) for name, value in parts.items()}


def _arrays(answers: list[Answer]) -> Arrays:
    translations = [text.encode() for answer in answers for text in answer.translations]
    details: list[Any] = [
        json.dumps(answer.details, ensure_ascii=False).encode() for answer in answers
    ]
    return {
        "translation": np.array(translations, dtype=np.object_),
        "text_score": np.array([s for a in answers for s in a.scores], dtype=np.float32),
        "details": np.array(details, dtype=np.object_),
    }
