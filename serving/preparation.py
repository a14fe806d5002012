"""Texts of a request as sentences for the search, and what is needed to put them together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from serving.bundle import ALIGNER, Bundle
from serving.decoding import decoding_of
from serving.documents.document import Document
from serving.documents.numbers import Numbers
from serving.documents.symbols import as_symbols
from serving.documents.wishes import Wishes
from serving.errors import RequestError
from serving.options import MAX_SOURCE_TOKENS, DecodingOptions
from serving.request_options import Options
from serving.text import TextProcessor


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A request's texts, ready to be translated.

    Attributes:
        documents: one a text.
        sentences: ids of the segments of all documents, one document after the other.
        prefixes: ids that the translation of a sentence begins with, by its place in `sentences`.
        decoding: how to search.
        align: whether attention between source and translation is needed.
    """

    documents: list[Document]
    sentences: list[list[int]]
    prefixes: dict[int, tuple[int, ...]]
    decoding: DecodingOptions
    align: bool


@dataclasses.dataclass(frozen=True)
class Preparation:
    """Cuts texts into sentences and tokenises them.

    Attributes:
        codec: the vocabulary.
        can_align: whether the model can tell which words come from each other. Without, tags
            are put back by proportion.
        numbers: how to write numbers; None leaves them to the model.
    """

    codec: TextProcessor
    can_align: bool
    numbers: Numbers | None = None

    @classmethod
    def of(cls, bundle: Bundle) -> Preparation:
        """Of a model's texts."""
        return cls(bundle.text_processor(), ALIGNER in bundle.checksums, bundle.numbers)

    def __call__(self, texts: Sequence[str], options: Options) -> Prepared:
        """Prepare the texts of a request, all with the same options.

        Raises:
            RequestError: alignments are asked for and cannot be had, or options contradict each
                other.
        """
        codec = self.codec
        wants_links = "alignments" in (options.return_ or ())
        if wants_links and not self.can_align:
            raise RequestError(f"this model was exported without what alignments need ({ALIGNER})")
        wishes = wishes_of(options)
        documents = [
            Document.parse(text, wishes, codec, MAX_SOURCE_TOKENS, self.numbers) for text in texts
        ]
        sentences = [codec.encode(s) for document in documents for s in document.segments]
        return Prepared(
            documents,
            sentences,
            self._prefixes(documents, options.prefix or ""),
            decoding_of(options, codec).seeded(),
            wants_links or (self.can_align and any(one.needs_links for one in documents)),
        )

    def _prefixes(self, documents: Sequence[Document], prefix: str) -> dict[int, tuple[int, ...]]:
        """Ids that the first segment of each document begins with, by its place among all."""
        found: dict[int, tuple[int, ...]] = {}
        beginning = tuple(self.codec.encode(prefix)[:-1])
        place = 0
        for document in documents:
            if document.parts and beginning:
                text = as_symbols(prefix, document.parts[0].masked)
                same = text == prefix  # as in most of up to 1,024 texts
                found[place] = beginning if same else tuple(self.codec.encode(text)[:-1])
            place += len(document.parts)
        return found


def wishes_of(options: Options) -> Wishes:
    """What documents are told."""
    protect, glossary = options.protect or (), options.glossary or {}
    return Wishes(options.format or "text", tuple(protect), dict(glossary))
