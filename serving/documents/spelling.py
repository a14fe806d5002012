"""Which words of a text a vocabulary cannot spell, and which signs it has others for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from serving.documents.patterns import Span
from serving.text import TextCodec, normalise

_SIMPLER = {"‘’‚‹›": "'", "“”„«»": '"', "–": "-", "—": "-", "‑": "-", "−": "-"}
"""Typographic signs, and what stands for them where a vocabulary lacks them: for all of a family,
so that no quotation begins in one style and ends in another."""

_BETWEEN_WORDS = frozenset("/&()[];|\"'“”„«»‘’–—:")
_LOSSY = re.compile(r"<(?:font|super|sub|circle|square|fraction)>")


class Spelling:
    """The words that a codec gives back; each is looked up once."""

    def __init__(self, codec: TextCodec) -> None:
        self._codec = codec
        # A symbol that normalising makes out of something else must not reach the model.
        self._foreign = codec.spelling_ids.union(codec.symbol_ids)
        self._spans: dict[str, list[Span]] = {}
        self._spelled: dict[str, bool] = {}
        self._last: tuple[str, list[int], str] = "", [], ""
        self.table = str.maketrans(
            {
                sign: simple
                for family, simple in _SIMPLER.items()
                if not all(map(self._gives_back, family)) and self._gives_back(simple)
                for sign in family
            }
        )

    def there_and_back(self, text: str) -> tuple[list[int], str]:
        """Ids of a text and what they spell; the last text is remembered."""
        if text != self._last[0]:
            ids = self._codec.encode(text)
            self._last = text, ids, self._codec.decode(ids)
        return self._last[1:]

    def unspelled(self, word: str) -> list[Span]:
        """Spans in a word, without white space, that must be masked.

        All of it from the first letter to the last where a letter is unknown; only the sign where
        signs are unknown before, after and between ordinary words.
        """
        spans = self._spans.get(word)
        if spans is None:
            spans = self._spans[word] = self._find(word)
        return spans

    def is_spelled(self, text: str) -> bool:
        """Whether there is nothing to mask in a text, at the cost of one look."""
        return self._gives_back(text.translate(self.table))

    def _find(self, word: str) -> list[Span]:
        if self._gives_back(word.translate(self.table)):
            return []
        return _runs(sorted(self._unknown(word)))

    def _unknown(self, word: str) -> Iterable[int]:
        """Places in a word that is not given back."""
        unknown = [i for i, character in enumerate(word) if not self._knows(character)]
        letters = [i for i, character in enumerate(word) if _is_letter(character)]
        if not unknown:  # its characters one by one are known, together they are not
            return range(len(word))
        if not letters:
            return unknown
        start, end = letters[0], letters[-1] + 1
        if not any(word[i].isalpha() for i in letters):  # a number with its signs
            return range(min(start, unknown[0]), max(end, unknown[-1] + 1))
        inside = [i for i in unknown if start <= i < end]
        if not inside or _parts_words(word[start:end], [i - start for i in inside]):
            return unknown
        outside = [i for i in unknown if not start <= i < end]
        return [*outside, *range(start, end)]

    def _knows(self, character: str) -> bool:
        known = self._spelled.get(character)
        if known is None:
            known = self._spelled[character] = self.is_spelled(character)
        return known

    def _gives_back(self, text: str) -> bool:
        ids, spelled = self.there_and_back(text)
        if not self._foreign.isdisjoint(ids):
            return False
        seen = normalise(text)
        return spelled == seen or (
            spelled == unicodedata.normalize("NFKC", seen) and not any(map(_changes, seen))
        )


def _is_letter(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def _changes(character: str) -> bool:
    """Whether NFKC takes something from it that a reader would miss: m² is not m2."""
    if character.isascii() or character == "…":
        return False
    form = unicodedata.decomposition(character)
    if not form.startswith("<"):
        return False
    return bool(_LOSSY.match(form)) or not character.isalpha()


def _parts_words(core: str, unknown: list[int]) -> bool:
    """Whether signs like the slash in and/or are all that is unknown between ordinary words."""
    if any(core[i] not in _BETWEEN_WORDS for i in unknown):
        return False
    parts = re.split("|".join(re.escape(core[i]) for i in set(unknown)), core)
    return all(len(part) > 1 and part.isalpha() for part in parts if part)


def _runs(places: list[int]) -> list[Span]:
    """Neighbouring places as spans."""
    spans: list[Span] = []
    for place in places:
        if spans and spans[-1][1] == place:
            spans[-1] = spans[-1][0], place + 1
        else:
            spans.append((place, place + 1))
    return spans
