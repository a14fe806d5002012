"""The model `postprocess`: ids of hypotheses in, texts out."""

from __future__ import annotations

import numpy as np

from serving.text import TextCodec
from serving.triton.answers import Arrays
from serving.triton.inputs import required_input
from serving.triton.interface import Request, Triton
from serving.triton.ragged import check_ids, split


class Postprocessor:
    """Turns the hypotheses of a request into texts."""

    def __init__(self, triton: Triton, codec: TextCodec, vocab_size: int) -> None:
        self._triton = triton
        self._codec = codec
        self._vocab_size = vocab_size

    def __call__(self, request: Request) -> Arrays:
        """Return `translation` (M,), the texts as UTF-8 bytes.

        Raises:
            RequestError: an id or a length is out of its range.
        """
        rows = split(
            required_input(self._triton, request, "hypothesis_ids"),
            required_input(self._triton, request, "hypothesis_lengths"),
        )
        check_ids(rows, self._vocab_size)
        texts = [self._codec.decode(row).encode() for row in rows]
        return {"translation": np.array(texts, dtype=np.object_)}
