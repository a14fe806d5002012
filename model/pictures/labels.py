"""Names of tokens as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence

from model.config import ModelConfig
from serving.text import WORD_START, TextProcessor

SPACE = "\u2423"
"""The open box, for a piece that is nothing but the space before a word."""

CONTINUES = "\u2026"
"""The ellipsis, before letters that go on with a word."""

UNKNOWN = "<unk>"
"""Stands for whatever a vocabulary without byte pieces lacks."""


class Labels:
    """Labels of the ids of a vocabulary.

    Most pieces start a word, so these are shown bare and the others are marked: "Gu", "...ten",
    "Tag". Signs that follow a word stay bare too. Special tokens and bytes have names in
    angle brackets: <bos>, <eos>, <pad>, <unk>, <0xF0>.
    """

    def __init__(self, text: TextProcessor, config: ModelConfig) -> None:
        special = {config.bos_id: "<bos>", config.eos_id: "<eos>", config.pad_id: "<pad>"}
        pieces = {index: _label(piece) for piece, index in text.piece_ids().items()}
        self._labels = {**pieces, **special}

    def of(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The labels of ids."""
        return tuple(self._labels[index] for index in ids)


def _label(piece: str) -> str:
    if piece.startswith(WORD_START):
        bare = piece.removeprefix(WORD_START)
        return bare.replace(WORD_START, SPACE) or SPACE
    return CONTINUES + piece if piece[:1].isalnum() else piece
