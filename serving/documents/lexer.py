"""HTML and XML as tokens with their places, every character in one of them.

The standard library's parser gives no ends of its tokens, takes quadratic time for some broken
markup in the Python versions that are served with, and changes what it reads; a tree would lose
what was written. Only tokens are needed here.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

_TAG = re.compile(r"</?([A-Za-z][^\s/>]*+)((?:[^>\"'=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?|[\"'])*+)>")
_BEGIN = re.compile(r"<(?:/?[A-Za-z]|[!?])")
_ATTRIBUTE = re.compile(r"([^\s=\"'/>]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++)))?")
_RAW = frozenset(["script", "style", "textarea", "xmp", "iframe", "noembed", "noframes"])
"""Elements whose content is no markup."""


@dataclasses.dataclass(frozen=True, slots=True)
class Token:
    """A stretch of markup.

    Attributes:
        kind: "text", "open", "close" or "other": comments, declarations, instructions, CDATA.
        start, end: its characters; of an element without markup inside, through its end tag.
        name: of the tag, in small letters.
        void: whether nothing is inside: a self-closing tag, or an element without markup inside.
    """

    kind: str
    start: int
    end: int
    name: str = ""
    void: bool = False


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text, each where the one before ends.

    A "<" that begins no tag is text. What follows an unclosed comment or tag belongs to it, as in
    browsers.
    """
    begin = done = 0
    while True:
        found = _BEGIN.search(text, begin)
        if found is None:
            break
        start = found.start()
        token = _markup(text, start)
        if done < start:
            yield Token("text", done, start)
        yield token
        begin = done = token.end
    if done < len(text):
        yield Token("text", done, len(text))


def _markup(text: str, start: int) -> Token:
    for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", ">"), ("<!", ">")):
        if text.startswith(opening, start):
            return Token("other", start, _end(text, closing, start + len(opening)))
    tag = _TAG.match(text, start)
    if tag is None:
        return Token("other", start, len(text))
    name = tag[1].lower()
    if text[start + 1] == "/":
        return Token("close", start, tag.end(), name)
    if text[tag.end() - 2] == "/":
        return Token("open", start, tag.end(), name, void=True)
    if name in _RAW:
        last = re.compile(rf"</{name}(?=[\s/>])[^>]*+>", re.IGNORECASE).search(text, tag.end())
        return Token("open", start, last.end() if last else len(text), name, void=True)
    return Token("open", start, tag.end(), name)


def _end(text: str, closing: str, start: int) -> int:
    place = text.find(closing, start)
    return len(text) if place < 0 else place + len(closing)


def attributes(text: str, tag: Token) -> dict[str, str]:
    """Attributes of an opening tag, names in small letters, values as they are written."""
    match = _TAG.match(text, tag.start)
    found: dict[str, str] = {}
    if match:
        for attribute in _ATTRIBUTE.finditer(match[2]):
            name, *values = attribute.groups()
            found.setdefault(name.lower(), next((v for v in values if v is not None), ""))
    return found
