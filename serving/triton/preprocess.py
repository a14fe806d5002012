"""The model `preprocess`: texts in; ids of sentences, and the documents around them, out."""

from __future__ import annotations

import time

import numpy as np

from serving.preparation import Preparation
from serving.triton.answers import Arrays
from serving.triton.decoding import DECODING, Decoding
from serving.triton.inputs import required_input, texts_of
from serving.triton.interface import Request, Triton
from serving.triton.options import options_of
from serving.triton.ragged import flatten
from serving.triton.wanted import WANTED, Wanted

LARGE_BYTES = 20_000
"""A request of more text takes long enough to be put off."""


class Preprocessor:
    """Turns the texts of a request into what the translator takes."""

    def __init__(self, triton: Triton, prepare: Preparation) -> None:
        self._triton, self._prepare = triton, prepare

    def is_large(self, request: Request) -> bool:
        """Whether its answer takes more than a moment."""
        tensor = self._triton.get_input_tensor_by_name(request, "text")
        texts = [] if tensor is None else tensor.as_numpy().reshape(-1).tolist()
        return sum(map(len, texts)) > LARGE_BYTES

    def __call__(self, request: Request) -> Arrays:
        """Return flat `ids` and `lengths` of all sentences, how to decode them, and `documents`.

        Raises:
            RequestError: the texts or the options cannot be accepted.
        """
        began = time.monotonic()
        options = options_of(self._triton, request)
        texts = texts_of(required_input(self._triton, request, "text"))
        prepared = self._prepare(texts, options)
        # Where no text has a sentence, an empty one stands in: Triton takes no empty array.
        ids, lengths = flatten(prepared.sentences or [[]])
        documents = [document.to_json().encode() for document in prepared.documents]
        wanted = Wanted(
            prepared.decoding.n_best, tuple(options.return_ or ()), time.monotonic() - began
        )
        return {
            "ids": ids,
            "lengths": lengths,
            DECODING: Decoding(prepared.decoding, prepared.prefixes, prepared.align).array(),
            "documents": np.array(documents, dtype=np.object_),
            WANTED: wanted.array(),
        }
