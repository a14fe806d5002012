"""The model `preprocess`: texts and options in, flat ids and resolved options out."""

from __future__ import annotations

from serving.errors import RequestError
from serving.options import MAX_SOURCE_TOKENS
from serving.text import TextCodec
from serving.triton.answers import Arrays
from serving.triton.inputs import required_input, texts_of
from serving.triton.interface import Request, Triton
from serving.triton.options import option_arrays, options_of
from serving.triton.ragged import flatten


class Preprocessor:
    """Turns the texts of a request into what the translator takes."""

    def __init__(self, triton: Triton, codec: TextCodec) -> None:
        self._triton = triton
        self._codec = codec

    def __call__(self, request: Request) -> Arrays:
        """Return flat `ids`, `lengths` (B,), 0 for a blank text, and each option (1,).

        Raises:
            RequestError: the texts or the options cannot be accepted.
        """
        options = options_of(self._triton, request)
        texts = texts_of(required_input(self._triton, request, "text"))
        rows = [self._encode(text, f"text {n} of {len(texts)}") for n, text in enumerate(texts, 1)]
        ids, lengths = flatten(rows)
        return {"ids": ids, "lengths": lengths, **option_arrays(options)}

    def _encode(self, text: str, which: str) -> list[int]:
        row = self._codec.encode(text)
        if len(row) > MAX_SOURCE_TOKENS:
            raise RequestError(
                f"{which} has {len(row):,} tokens; the limit is {MAX_SOURCE_TOKENS:,}: "
                "send its sentences as texts of their own"
            )
        return row
