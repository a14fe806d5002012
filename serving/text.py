"""Text to token ids and back: normalise, tokenise, detokenise."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import sentencepiece

from serving.errors import ConfigError
from serving.words import SYMBOL, Span

VOCABULARY = "vocabulary.model"
"""File name of a SentencePiece model, beside a checkpoint and in a bundle."""

WORD_START = "\u2581"
"""The character that SentencePiece puts for the space before a word."""

_KEPT_FORMAT_CHARACTERS = "\u200c\u200d"
"""Zero-width joiners carry meaning in emoji and in several scripts."""


def normalise(text: str) -> str:
    """Control characters and runs of white space become one space each, the invisible go.

    So every string is safe for SentencePiece: no NUL, no lone surrogate, no byte-order mark.
    Unicode NFKC is left to the SentencePiece model, which carries its own rule.
    """
    # What is printable holds no control, format or surrogate character: nearly every line.
    visible = text if text.isprintable() else "".join(map(_visible, text))
    return " ".join(visible.split())


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cc":
        return " "
    if category == "Cs" or (category == "Cf" and character not in _KEPT_FORMAT_CHARACTERS):
        return ""
    return character


def _normalised_places(text: str) -> tuple[str, list[int]]:
    """`normalise`, and where in `text` each of its characters stands; then the text's length."""
    characters: list[str] = []
    places: list[int] = []
    gap: int | None = None
    for place, raw in enumerate(text):
        character = _visible(raw)
        if character.isspace():
            gap = place if gap is None else gap
        elif character:
            if gap is not None and characters:
                characters.append(" ")
                places.append(gap)
            gap = None
            characters.append(character)
            places.append(place)
    return "".join(characters), [*places, len(text)]


def _visible_span(text: str, places: Sequence[int], start: int, end: int) -> Span:
    """The span of a piece, without white space, at the `places` where its characters stand."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return Span(places[start], places[end - 1] + 1 if start < end else places[start])


class TextCodec(Protocol):
    """What turns texts into ids and back; the interface that search and serving know."""

    @property
    def symbols(self) -> Sequence[str]:
        """The reserved symbols of the vocabulary, in order; some vocabularies have none."""
        ...

    @property
    def symbol_ids(self) -> Sequence[int]:
        """Their ids."""
        ...

    @property
    def spelling_ids(self) -> frozenset[int]:
        """Ids of the pieces that are a byte, and of the unknown piece.

        A word that needs one of them is none that the model has learned.
        """
        ...

    def encode(self, text: str) -> list[int]:
        """Ids of a text, closed by EOS; an empty list for a blank text."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; BOS, EOS and padding are left out."""
        ...


class TextProcessor:
    """SentencePiece with the project's normalisation around it."""

    def __init__(self, pieces: sentencepiece.SentencePieceProcessor) -> None:
        self._pieces = pieces
        self.eos_id: int = pieces.eos_id()
        self.unk_id: int = pieces.unk_id()
        self.symbols: Sequence[str] = _symbols(pieces)
        self.symbol_ids: Sequence[int] = [pieces.PieceToId(symbol) for symbol in self.symbols]
        self.spelling_ids = frozenset(
            [i for i in range(pieces.GetPieceSize()) if pieces.IsByte(i)] + [self.unk_id]
        )
        self._hidden = {pieces.pad_id(), pieces.bos_id(), pieces.eos_id()}

    @classmethod
    def load(cls, path: Path) -> TextProcessor:
        """Read a SentencePiece model.

        Raises:
            ConfigError: the file is missing or is no SentencePiece model.
        """
        pieces = sentencepiece.SentencePieceProcessor()
        try:
            pieces.Load(str(path))
        except (OSError, RuntimeError) as error:
            raise ConfigError(f"no SentencePiece model can be read from {path}: {error}") from error
        return cls(pieces)

    @property
    def vocab_size(self) -> int:
        """Number of pieces, V."""
        return int(self._pieces.GetPieceSize())

    def encode(self, text: str) -> list[int]:
        """Ids of a text, closed by EOS; an empty list for a blank text."""
        ids: list[int] = self._pieces.EncodeAsIds(normalise(text))
        return [*ids, self.eos_id] if ids else []

    def encode_all(self, texts: Sequence[str], threads: int) -> list[list[int]]:
        """`encode` of every text, by several threads."""
        lines = list(map(normalise, texts))
        found: list[list[int]] = self._pieces.Encode(lines, out_type=int, num_threads=threads)
        return [[*ids, self.eos_id] if ids else [] for ids in found]

    def encode_spans(self, text: str) -> tuple[list[int], list[Span]]:
        """`encode`, and the characters of `text` that each id stands for.

        Spans ascend and leave out white space; EOS has an empty one at the end. Where one
        character became several pieces, all but the last have empty ones where it begins.
        """
        normalised, places = _normalised_places(text)
        found = self._pieces.encode(normalised, return_type="offset_mapping")
        if not found["ids"]:
            return [], []
        spans = [_visible_span(normalised, places, *offsets) for offsets in found["offsets"]]
        return [*found["ids"], self.eos_id], [*spans, Span(len(text), len(text))]

    def decode_spans(self, ids: Sequence[int]) -> tuple[str, list[Span]]:
        """`decode`, and the characters of the text that each of the ids stands for.

        Spans are as those of `encode_spans`; ids that are left out have empty ones.
        """
        shown = [int(i) for i in ids if i not in self._hidden]
        found = self._pieces.decode(shown, return_type="offset_mapping")
        text: str = found["text"]
        offsets = iter(found["offsets"])
        spans: list[Span] = []
        for i in ids:
            end = spans[-1].end if spans else 0
            hidden = i in self._hidden
            places = range(len(text) + 1)
            spans.append(Span(end, end) if hidden else _visible_span(text, places, *next(offsets)))
        return text, spans

    def words(self, text: str) -> list[str]:
        """The words of a text as SentencePiece sees them: normalised, split at spaces."""
        normalised: str = self._pieces.Normalize(normalise(text))
        return normalised.replace(WORD_START, " ").split()

    def piece_id(self, piece: str) -> int | None:
        """The id of a piece as the vocabulary spells it; None where it has no such piece."""
        found = int(self._pieces.PieceToId(piece))
        return found if found != self.unk_id else None

    def pieces_of(self, ids: Sequence[int]) -> list[str]:
        """The pieces of ids, as the vocabulary spells them."""
        return [self._pieces.IdToPiece(int(i)) for i in ids]

    def piece_ids(self) -> dict[str, int]:
        """Id of every piece."""
        return {self._pieces.IdToPiece(i): i for i in range(self.vocab_size)}

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; BOS, EOS and padding are left out."""
        text: str = self._pieces.DecodeIds([int(i) for i in ids if i not in self._hidden])
        return text


def _symbols(pieces: sentencepiece.SentencePieceProcessor) -> list[str]:
    """Pieces that SentencePiece never cuts, of the form of a symbol, by their numbers."""
    names = [pieces.IdToPiece(i) for i in range(pieces.GetPieceSize())]
    return sorted(filter(SYMBOL.fullmatch, names), key=lambda name: int(name[1:-1]))
