"""HTML and XML as blocks: texts between borders, with the tags inside them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from serving.documents.block import Block, Tag
from serving.documents.lexer import Token, attributes, tokens
from serving.documents.patterns import Span

HELD = "\ufffc"
"""Stands in a block's text for an element that is kept as it is."""

_INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "input",
        "ins",
        "label",
        "mark",
        "nobr",
        "q",
        "rb",
        "rp",
        "rt",
        "ruby",
        "s",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "u",
        "var",
        "wbr",
        "bx",
        "ex",
        "g",
        "mrk",
        "pc",
        "x",
    ]  # of XLIFF
)
"""All others are borders of sentences."""

_KEPT = frozenset(
    [
        "bpt",
        "canvas",
        "code",
        "ept",
        "it",
        "kbd",
        "math",
        "object",
        "ph",
        "pre",
        "samp",
        "script",
        "style",
        "svg",
        "textarea",
        "tt",
        "var",
    ]
)
"""Kept as they are; within a sentence all but `pre` and `textarea` stand for a word."""

_INVISIBLE = frozenset(["script", "style"])
_BORDERS = frozenset(["pre", "textarea", "canvas", "object"])
_VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});?")


def blocks(text: str) -> Iterator[Block]:
    """Yield what is to be translated of markup, in order."""
    found = list(tokens(text))
    ends = _kept(text, found)
    builder = _Builder(text)
    at = 0
    while at < len(found):
        token = found[at]
        last = ends.get(at, at)
        if token.kind == "text":
            builder.text(token)
        elif token.kind == "other" or token.name in _INVISIBLE:
            builder.tag("point", token.start, found[last].end)
        elif token.name in _BORDERS or not (token.name in _INLINE or token.name in _KEPT):
            yield from builder.finish()
        elif last > at or (token.name in _KEPT and token.void):
            builder.hold(token.start, found[last].end)
        elif token.void or token.name in _VOID:
            builder.tag("point", token.start, token.end)
        else:
            builder.tag(token.kind, token.start, token.end, token.name)
        at = last + 1
    yield from builder.finish()


def _kept(text: str, found: Sequence[Token]) -> dict[int, int]:
    """Of elements that are kept as they are, the opening token's index and the closing one's."""
    opened: dict[str, list[int]] = {}
    ends: dict[int, int] = {}
    for i, token in enumerate(found):
        if token.kind == "open" and not token.void and token.name not in _VOID:
            opened.setdefault(token.name, []).append(i)
        elif token.kind == "close" and opened.get(token.name):
            start = opened[token.name].pop()
            if token.name in _KEPT or _is_kept(text, found[start]):
                ends[start] = i
    return ends


def _is_kept(text: str, token: Token) -> bool:
    """Whether an element's author wants no translation."""
    given = text[token.start : token.end].lower()
    if "translate" not in given:
        return False
    found = attributes(text, token)
    return found.get("translate", "").lower() == "no" or (
        "notranslate" in found.get("class", "").split()
    )


class _Builder:
    """Gathers a block."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._clear()

    def _clear(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._tags: list[Tag] = []
        self._held: list[Span] = []

    def finish(self) -> Iterator[Block]:
        """Yield what was gathered, if there is text in it, and begin anew."""
        text = "".join(self._texts)
        if text.strip():
            yield Block(text, self._starts, self._ends, self._tags, self._held)
        self._clear()

    def tag(self, kind: str, start: int, end: int, name: str = "") -> None:
        self._tags.append(Tag(self._length, start, end, kind, name))

    def hold(self, start: int, end: int) -> None:
        self._held.append((self._length, self._length + 1))
        self._add(HELD, [start], [end])

    def text(self, token: Token) -> None:
        """Add text, its entities as the characters that they are."""
        done = token.start
        for entity in _ENTITY.finditer(self._source, token.start, token.end):
            characters = html.unescape(entity.group())
            if characters == entity.group() or not characters:
                continue
            self._plain(done, entity.start())
            if not entity.group().endswith(";"):  # few readers agree on what "&copy2" is
                self.hold(entity.start(), entity.end())
            else:
                places = [entity.start()] + [entity.end()] * (len(characters) - 1)
                self._add(characters, places, [entity.end()] * len(characters))
            done = entity.end()
        self._plain(done, token.end)

    def _plain(self, start: int, end: int) -> None:
        self._add(self._source[start:end], range(start, end), range(start + 1, end + 1))

    def _add(self, text: str, starts: Sequence[int], ends: Sequence[int]) -> None:
        self._texts.append(text)
        self._length += len(text)
        self._starts.extend(starts)
        self._ends.extend(ends)
