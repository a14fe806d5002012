"""Text to token ids and back: normalise, tokenise, detokenise."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import sentencepiece

from serving.errors import ConfigError

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


class TextCodec(Protocol):
    """What turns texts into ids and back; the interface that search and serving know."""

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

    def words(self, text: str) -> list[str]:
        """The words of a text as SentencePiece sees them: normalised, split at spaces."""
        normalised: str = self._pieces.Normalize(normalise(text))
        return normalised.replace(WORD_START, " ").split()

    def piece_ids(self) -> dict[str, int]:
        """Id of every piece."""
        return {self._pieces.IdToPiece(i): i for i in range(self.vocab_size)}

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; BOS, EOS and padding are left out."""
        text: str = self._pieces.DecodeIds([int(i) for i in ids if i not in self._hidden])
        return text
