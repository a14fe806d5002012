"""Symbols in a translation, and what they stand for."""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

from serving.alignment import Link
from serving.documents.segment import CAPITAL_TARGET, Masked, Segment
from serving.words import SYMBOL


class SymbolError(RuntimeError):
    """A translation lacks a symbol of its source, or repeats it: what it stands for would be lost.

    The search guarantees that this does not happen.
    """


@dataclasses.dataclass(frozen=True, slots=True)
class Edit:
    """Characters of a translation, and what is written in their place."""

    start: int
    end: int
    written: str


def occurrences(segment: Segment, text: str) -> dict[str, tuple[int, int]]:
    """Where each of a segment's symbols stands in its translation.

    Raises:
        SymbolError: one is not there exactly once.
    """
    own = {masked.symbol for masked in segment.masked}
    found: dict[str, tuple[int, int]] = {}
    for match in SYMBOL.finditer(text):
        if match.group() not in own:
            continue
        if match.group() in found:
            raise SymbolError(f"{match.group()} stands twice in {text!r}")
        found[match.group()] = match.span()
    missing = own - found.keys()
    if missing:
        raise SymbolError(f"{', '.join(sorted(missing))} is missing in {text!r}")
    return found


def as_symbols(text: str, masked: Sequence[Masked]) -> str:
    """A beginning of a translation as the model has it: symbols for what they stand for."""
    waiting: dict[str, deque[str]] = defaultdict(deque)
    for one in masked:
        waiting[one.written].append(one.symbol)
        capital = _with_capital(one.written)
        if one.kind == CAPITAL_TARGET and capital != one.written:
            waiting[capital] = waiting[one.written]
    longest_first = sorted(waiting, key=len, reverse=True)

    def symbol(found: re.Match[str]) -> str:
        symbols = waiting[found.group()]
        return symbols.popleft() if symbols else found.group()

    pattern = "|".join(map(re.escape, longest_first))
    return re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", symbol, text) if pattern else text


def with_symbols(
    segment: Segment, links: Sequence[Link], targets: dict[str, tuple[int, int]]
) -> list[Link]:
    """Links in which each symbol comes from itself."""
    sources = {match.group(): match.span() for match in SYMBOL.finditer(segment.text)}
    exact = [Link(*sources[symbol], *targets[symbol]) for symbol in targets]
    taken = sorted(sources[symbol] for symbol in targets)
    return exact + [link for link in links if not _overlaps(link, taken)]


def _overlaps(link: Link, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start < link.source_end and link.source_start < end for start, end in spans)


def symbol_edits(
    segment: Segment, text: str, targets: dict[str, tuple[int, int]]
) -> Iterator[Edit]:
    """Put in what symbols stand for, glued to their neighbours as in the source."""
    sources = {match.group(): match.span() for match in SYMBOL.finditer(segment.text)}
    for masked in segment.masked:
        start, end = targets[masked.symbol]
        first, last = sources[masked.symbol]
        yield from _left(segment.text[:first][-1:], text, start)
        yield Edit(start, end, _restored(masked, text[:start]))
        yield from _right(segment.text[last : last + 1], text, end)


def _restored(masked: Masked, before: str) -> str:
    written = masked.written
    begins = not any(map(str.isalnum, before))
    first_word = written.split(" ")[0]
    if masked.kind == CAPITAL_TARGET and begins and first_word.islower():
        return _with_capital(written)
    return written


def _with_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _left(neighbour: str, text: str, start: int) -> Iterator[Edit]:
    glued = neighbour.strip() != ""
    if glued and text[start - 1 : start] == " " and text[start - 2 : start - 1] == neighbour:
        if neighbour != "⟧":  # of another symbol, perhaps
            yield Edit(start - 1, start, "")
    elif not _is_part_of_word(neighbour) and start > 0 and _is_part_of_word(text[start - 1]):
        yield Edit(start, start, " ")


def _right(neighbour: str, text: str, end: int) -> Iterator[Edit]:
    glued = neighbour.strip() != ""
    if glued and text[end : end + 1] == " " and text[end + 1 : end + 2] == neighbour:
        if neighbour != "⟦":
            yield Edit(end, end + 1, "")
    elif not glued and neighbour and end < len(text) and _is_part_of_word(text[end]):
        yield Edit(end, end, " ")


def _is_part_of_word(character: str) -> bool:
    """Of a script that has spaces between words."""
    return character == "⟧" or (character.isalnum() and character < "\u2e80")
