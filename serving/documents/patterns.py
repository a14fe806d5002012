"""What a program or a reader needs as it stands: placeholders, addresses, code, paths, tags.

No expression looks for the other end of something more than once in the same stretch of text, so
that hostile text takes linear time too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from serving.words import SYMBOL

Span = tuple[int, int]

_NAME = r"[A-Za-z_][\w.-]*+"
_ICU = r"(?:number|date|time|plural|select|selectordinal|choice|spellout|ordinal|duration)"
_NESTED = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,400}+\}){0,400}?\}){0,400}?\}"

_PLACEHOLDERS = (
    SYMBOL.pattern,  # a user's own
    r"%(?:\d{1,2}\$|\([^()\s]{1,60}\)|<\w{1,60}>)?[-+0#']*+(?:\d{1,4}|\*)?(?:\.(?:\d{1,4}|\*))?"
    r"(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGcsSpaAr@](?![A-Za-z])",  # C, gettext, Python, iOS
    r"%%",
    r"%\{[^{}\s]{1,60}\}",  # Ruby
    r"%L?\d{1,2}(?![\d%])",  # Qt
    r"%[A-Z_][A-Z0-9_]{1,60}%",
    r"\{\{\{?[^{}\n]{1,200}+\}?\}\}",  # i18next, Mustache
    rf"\{{\s?[\w.]{{1,60}}\s?,\s?{_ICU}\b(?:[^{{}}]|{_NESTED}){{0,400}}?\}}",  # ICU
    r"\{\s?\$?[\w.\[\]-]{0,60}(?:![rsa])?(?::[^{}\s]{0,40})?\s?\}",  # Python, Java, Rust, Fluent
    r"[$#@]\{[^{}\n]{1,200}+\}",  # shell, JavaScript, Ruby
    r"\$t?\([^()\n]{1,200}+\)",
    r"(?<!\w)\$[A-Za-z_]\w{0,60}\$?",
    r"(?<![^\s\"'(\[]):[a-z_]{2,40}\b:?",  # Laravel, emoji of chats
    r"\\(?:[nrt\"'\\]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})",  # escapes in strings of programs
)
_TAGS = (  # in plain text
    rf"</?(?:{_NAME}|\d{{1,3}})(?::{_NAME})?(?:\s++[\w:@.-]{{1,60}}+=(?:\"[^\"\n]{{0,2000}}+\"|"
    r"'[^'\n]{0,2000}+'|[^\s\"'<>]{1,2000}+))*+\s*+/?>",
    r"&(?:[A-Za-z]\w{1,31}|#\d{1,7}|#x[0-9A-Fa-f]{1,6});",
)
_PATH = (
    r"(?P<path>(?<![\w/.~-])(?:(?:~|\.{1,2})(?:/[\w.@+-]++)++|(?:/[\w.@+-]++){2,}+)/?|"
    r"\b[A-Za-z]:\\[^\s<>\"|?*]++|\\\\[\w.-]++\\[^\s<>\"|?*]++)"
)
_CODE = (r"``[^`\n](?:[^`\n]|`(?!`)){0,400}``", r"`[^`\n]++`")
_FENCE = re.compile(r"(?m)^[ \t]*+(```|~~~)([^`\n]*+)$")  # code over lines, in Markdown
_HANDLES = (r"(?<![\w@])@[A-Za-z_]\w{1,30}", r"(?<![\w#&])#[A-Za-z_]\w{1,60}")

_ADDRESSES = (
    r"\b(?:https?|ftps?|sftp|file|ssh|git|wss?|s3|mailto|tel|data)(?:://|(?<=mailto):|(?<=tel):)"
    r"[^\s<>\"`“”«»{}|\\^]++",
    r"(?<![\w.+-])www\.[^\s<>\"`“”«»{}|\\^]++",
    r"(?<![\w.+@-])[\w.+-]++@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++",
    r"(?<![\w.+@-])(?:[A-Za-z0-9-]++\.(?=[A-Za-z]))++(?:com|org|net|edu|gov|info|io|dev|app|eu|de|uk|"
    r"fr|nl|ch|at|ru|jp|cn)\b(?![.]\w)(?:[:/][^\s<>\"`“”«»{}|\\^]*+)?",
    r"(?<![\w.+@-])[A-Za-z0-9_][\w-]{0,60}(?:\.[\w-]{1,30}){0,4}?\.(?:bat|c|cfg|conf|cpp|css|csv|dll|docx?|exe|gif|"
    r"go|gz|html?|ini|java|jpe?g|js|json|jsx|log|md|mp[34]|pdf|php|png|pptx?|py|rb|rs|sh|sql|svg|"
    r"tar|toml|tsv|tsx?|txt|xlsx?|xml|ya?ml|zip)\b(?!\.\w|\()",
    r"(?<![\w.])[A-Za-z_]\w{0,60}(?:\.\w{1,60}){0,5}\(\)",
)

_SIGNS = re.compile("|".join([*_CODE, _PATH, *_PLACEHOLDERS, *_HANDLES]))
_MARKUP = re.compile("|".join(_TAGS))
_WORDS = [re.compile(pattern) for pattern in _ADDRESSES]
_CLOSED = {")": "(", "]": "["}


def patterns(text: str, tags: bool) -> Iterator[Span]:
    """Yield the spans of what must not be translated, overlapping and in no order.

    Args:
        text: as a reader sees it.
        tags: whether tags and entities are to be found, as in plain text.
    """
    if tags:
        yield from _fenced(text)
    for found in _SIGNS.finditer(text):
        yield _trimmed(found) if found.group("path") else found.span()
    if tags:
        for found in _MARKUP.finditer(text):
            yield found.span()
    for expression in _WORDS:
        for found in expression.finditer(text):
            yield _trimmed(found)


def _fenced(text: str) -> Iterator[Span]:
    begun: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if begun is None:
            begun = fence
        elif fence[1] == begun[1] and not fence[2].strip():
            yield begun.start(), fence.end()
            begun = None


def _trimmed(found: re.Match[str]) -> Span:
    """Without the punctuation of the sentence that it stands in."""
    start, end = found.span()
    text = found.string
    while end > start + 1:
        last = text[end - 1]
        if last in _CLOSED and _CLOSED[last] in text[start : end - 1][-2000:]:
            break
        if last not in ".,;:!?…)]'’*_":
            break
        end -= 1
    return start, end
