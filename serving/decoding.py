"""What the search is told of a request's options, once a vocabulary is at hand."""

from __future__ import annotations

import dataclasses

from serving.options import DecodingOptions
from serving.request_options import Options
from serving.text import TextProcessor


def decoding_of(options: Options, codec: TextProcessor) -> DecodingOptions:
    """What the search is told.

    Raises:
        RequestError: two values do not go together.
    """
    known = {field.name for field in dataclasses.fields(DecodingOptions)}
    values = {name: value for name, value in options.given().items() if name in known}
    words = options.suppress or ()
    values["suppress"] = tuple(ids for word in words for ids in _sequences(word, codec))
    return DecodingOptions(**values)


def _sequences(word: str, codec: TextProcessor) -> list[tuple[int, ...]]:
    """A word as ids; a piece of the vocabulary is one by itself, too."""
    piece = codec.piece_id(word)
    found = [tuple(codec.encode(word)[:-1]), () if piece is None else (piece,)]
    return [ids for ids in dict.fromkeys(found) if ids]
