"""What of a text is masked: stretches that are kept, or that a glossary translates."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from serving.documents.patterns import Span, patterns
from serving.documents.terms import Terms
from serving.documents.wishes import Wishes, compiled, is_expression


@dataclasses.dataclass(frozen=True)
class Mask:
    """A stretch of a text that no model sees.

    Attributes:
        start, end: its characters.
        target: what a glossary puts in its place; None keeps it as it stands.
    """

    start: int
    end: int
    target: str | None = None


@dataclasses.dataclass(frozen=True)
class Stretch:
    """Characters of a block, and the masks in them."""

    start: int
    end: int
    masks: Sequence[Mask] = ()


class Masker:
    """Finds masks as a request wishes."""

    def __init__(self, wishes: Wishes) -> None:
        self._tags = wishes.format == "text"
        terms = [term for term in wishes.protect if not is_expression(term)]
        self._protected = Terms(terms)
        self._expressions = [compiled(term) for term in wishes.protect if is_expression(term)]
        self._glossary = wishes.glossary
        self._terms = Terms(wishes.glossary)

    def masks(self, text: str, held: Iterable[Span] = ()) -> list[Mask]:
        """Masks of a text in order, none overlapping another.

        Args:
            text: as a reader sees it.
            held: spans to mask whatever they hold.
        """
        kept = [*held, *patterns(text, self._tags)]
        kept += [(start, end) for start, end, _ in self._protected.find(text)]
        for expression in self._expressions:
            kept += [found.span() for found in expression.finditer(text)]
        whole = _united(kept)
        targets = [
            Mask(start, end, self._glossary[term]) for start, end, term in self._terms.find(text)
        ]
        return _joined(whole, targets)


def _united(spans: Sequence[Span]) -> list[Mask]:
    """Overlapping spans as one."""
    masks: list[Mask] = []
    for start, end in sorted(spans):
        if start == end:
            continue
        if masks and start < masks[-1].end:
            if end > masks[-1].end:
                masks[-1] = Mask(masks[-1].start, end)
        else:
            masks.append(Mask(start, end))
    return masks


def _joined(kept: Sequence[Mask], targets: Sequence[Mask]) -> list[Mask]:
    """Both in order; what is kept comes before the glossary."""
    masks: list[Mask] = []
    at = 0
    for target in targets:
        while at < len(kept) and kept[at].end <= target.start:
            at += 1
        if at == len(kept) or kept[at].start >= target.end:
            masks.append(target)
    return sorted([*kept, *masks], key=lambda mask: mask.start)


def split_at(masks: Iterable[Mask], places: Sequence[int]) -> list[Mask]:
    """Cut masks where a border or a tag stands inside; a glossary's goes."""
    found: list[Mask] = []
    at = 0
    for mask in masks:
        while at < len(places) and places[at] <= mask.start:
            at += 1
        start, last = mask.start, at
        while last < len(places) and places[last] < mask.end:
            if mask.target is None:
                found.append(Mask(start, places[last]))
            start = places[last]
            last += 1
        if mask.target is None or start == mask.start:
            found.append(dataclasses.replace(mask, start=start))
    return found
