"""What an export starts from: a checkpoint, and sentences to prove its graphs on."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from model.checkpoint import SAMPLE, load_text, load_transformer
from model.transformer import Transformer
from serving.errors import DragomanError
from serving.lines import read_lines
from serving.shortlist import SHORTLIST, Shortlist
from serving.text import VOCABULARY, TextProcessor

SENTENCES = 200
"""How many are proved on where nobody gave references."""


@dataclasses.dataclass(frozen=True)
class Material:
    """A model with sentences.

    Attributes:
        checkpoint: the folder.
        model: in evaluation mode.
        text: its vocabulary.
        lines: source sentences.
        references: their translations, if there are any.
    """

    checkpoint: Path
    model: Transformer
    text: TextProcessor
    lines: Sequence[str]
    references: Sequence[str] | None

    @classmethod
    def load(
        cls, checkpoint: Path, source: Path | None, reference: Path | None, count: int | None
    ) -> Material:
        """Read all of it.

        Args:
            source: sentences; those kept with the checkpoint if None.
            reference: their translations, for BLEU.
            count: how many of them.

        Raises:
            DragomanError: there is no checkpoint of a Transformer, no text, or another number of
                translations.
        """
        model = load_transformer(checkpoint)
        text = load_text(checkpoint, model.config)
        return cls(checkpoint, model, text, *_lines(checkpoint, source, reference, count))

    @property
    def sources(self) -> list[list[int]]:
        """Ids of the sentences that are not blank."""
        return [ids for ids in map(self.text.encode, self.lines) if ids]

    @property
    def vocabulary(self) -> Path:
        """The file of the vocabulary."""
        return self.checkpoint / VOCABULARY

    def sample(self) -> list[list[int]]:
        """What scales are set by: what the checkpoint keeps, never what judges the result."""
        path = self.checkpoint / SAMPLE
        if not path.exists():
            return self.sources
        return [ids for ids in map(self.text.encode, read_lines(path)) if ids]

    def shortlist(self) -> Shortlist:
        """The checkpoint's own.

        Raises:
            DragomanError: it has none.
        """
        path = self.checkpoint / SHORTLIST
        if not path.exists():
            raise DragomanError(f"{path} does not exist; make it with dragoman shortlist")
        return Shortlist.load(path, self.text.vocab_size, self.text.eos_id)


def _lines(
    checkpoint: Path, source: Path | None, reference: Path | None, count: int | None
) -> tuple[list[str], list[str] | None]:
    if reference and not source:
        raise DragomanError("--reference needs the sentences that it translates: --text FILE")
    path = source or checkpoint / SAMPLE
    if not path.exists():
        raise DragomanError(f"{path} does not exist; name source sentences with --text FILE")
    lines = read_lines(path)
    if not reference:
        return lines[: count or SENTENCES], None
    references = read_lines(reference)
    if len(lines) != len(references):
        raise DragomanError(f"{path} has {len(lines)} lines and {reference} has {len(references)}")
    return lines[:count], references[:count]
