"""How much of the training text is changed, and how."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from serving.errors import ConfigError


@dataclasses.dataclass(frozen=True)
class AugmentationConfig:
    """Shares of the pairs, each from 0 to 1; a pair may be changed in several ways.

    Attributes:
        symbols: words that translate each other become a reserved symbol on both sides, or
            symbols are added to both: so the model learns to copy what stands for a placeholder.
        numbers: numbers that both sides share become others.
        counted: number words become figures; needs `number_words`.
        hidden: numbers of the same figures become reserved symbols, as a server masks them.
        repeated: another pair of the corpus that has a number stands in a pair's place.
        lowercase: the source without capitals; the target stays.
        endings: both sides without their final mark.
        quotes: the source's quotation marks become those of another style; the target's stay.
        quoted: both sides in quotation marks, each in a style of its own.
        joined: another pair of the corpus behind or within the pair, as clauses of one sentence.
        marked: a word and its translation in brackets, quotation marks or other marks.
        names: names that both sides share become made-up ones, some with accents.
        number_words: number words of the source's language from two on, in small letters, and
            what they are in the target's.
    """

    symbols: float = 0.0
    numbers: float = 0.0
    counted: float = 0.0
    hidden: float = 0.0
    repeated: float = 0.0
    lowercase: float = 0.0
    endings: float = 0.0
    quotes: float = 0.0
    quoted: float = 0.0
    joined: float = 0.0
    marked: float = 0.0
    names: float = 0.0
    number_words: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, share in self._shares.items():
            if not 0 <= share <= 1:
                raise ConfigError(f"augmentation.{name} must be from 0 to 1, not {share}")
        if not all(isinstance(w, str) for pair in self.number_words.items() for w in pair):
            raise ConfigError(
                f"augmentation.number_words must map words to words, not {self.number_words!r}"
            )
        if self.counted and not self.number_words:
            raise ConfigError("augmentation.counted needs augmentation.number_words")

    @property
    def _shares(self) -> dict[str, float]:
        names = [field.name for field in dataclasses.fields(self) if field.name != "number_words"]
        return {name: getattr(self, name) for name in names}

    @property
    def any(self) -> bool:
        """Whether anything is changed."""
        return any(self._shares.values())

    @property
    def needs_anchors(self) -> bool:
        """Whether words and their translations have to be known."""
        return bool(self.symbols or self.joined or self.marked or self.names)
