"""Placeholders, tags and other numbers, planted into pairs of sentences by a seeded draw."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import NamedTuple

from serving.documents.numbers import NUMBERS

WORD = re.compile(r"\w+(?:[-'’]\w+)*")
_ENDING = re.compile(r"[.!?…]*$")
_NO_FIGURE = re.compile(r"\D")

PLACEHOLDERS = (
    *("%s", "%d", "%1$s", "%(name)s", "{name}", "{0}", "{{count}}", "${total}"),
    *("https://example.org/a?b=1", "www.example.com", "anna@example.org", "`git push`"),
)

BEHIND = (" ({})", ": {}", " – {}")
"""How one is added behind a sentence: set off, since a bare one may be any of its words."""

TAGS = (
    ("<b>", "</b>"),
    ("<em>", "</em>"),
    ("<a href='/x?y=1&amp;z=2'>", "</a>"),
    ("<span class='c'>", "</span>"),
)


class Planted(NamedTuple):
    """A sentence with placeholders.

    Attributes:
        text: to be translated.
        kept: each placeholder that must be in the translation, as often as it stands here.
        stands_for: what each stands for in the reference, or nothing where it was added.
        at_end: whether the only one was added at the sentence's end; None where none was added.
    """

    text: str
    kept: tuple[str, ...]
    stands_for: dict[str, str]
    at_end: bool | None


def with_placeholders(source: str, reference: str, draw: random.Random) -> Planted:
    """Replace names that both sides share, or add one placeholder before or behind the sentence."""
    words = WORD.finditer(source)
    shared = [m for m in words if _is_shared(m.group(), source, reference)][: len(PLACEHOLDERS)]
    if shared and draw.random() < 0.7:
        names = draw.sample(PLACEHOLDERS, len(shared))
        text = source
        for match, name in reversed(list(zip(shared, names, strict=True))):
            text = text[: match.start()] + name + text[match.end() :]
        stands_for = {name: match.group() for match, name in zip(shared, names, strict=True)}
        return Planted(text, tuple(names), stands_for, None)
    name = draw.choice(PLACEHOLDERS)
    if draw.random() < 0.4:
        return Planted(f"{name}: {source}", (name,), {name: ""}, False)
    ending = _ENDING.search(source)
    place = ending.start() if ending and draw.random() < 0.5 else len(source)
    behind = draw.choice(BEHIND).format(name)
    text = f"{source[:place]}{behind}{source[place:]}"
    return Planted(text, (name,), {name: ""}, True)


def without_placeholders(translation: str, planted: Planted) -> str:
    """A translation with what the placeholders stand for, or without those that were added."""
    for name, meaning in planted.stands_for.items():
        if meaning:
            translation = translation.replace(name, meaning, 1)
        elif translation.startswith(f"{name}: "):
            translation = translation[len(name) + 2 :]
        else:
            for behind in (*BEHIND, "{}"):
                translation = translation.replace(behind.format(name), "", 1)
    return translation


def with_tags(source: str, draw: random.Random) -> str:
    """One to three runs of words in tags; two may be nested."""
    words = list(WORD.finditer(source))
    if not words:
        return source
    first = draw.randrange(len(words))
    last = min(len(words) - 1, first + draw.randrange(3))
    opening, closing = draw.choice(TAGS)
    start, end = words[first].start(), words[last].end()
    inside = source[start:end]
    if last > first and draw.random() < 0.5:
        inner, outer = draw.choice(TAGS)
        cut = words[first].end() - start
        inside = f"{inner}{inside[:cut]}{outer}{inside[cut:]}"
    rest = source[end:]
    if draw.random() < 0.3:
        rest = re.sub(r"(\w+)", r"<i>\1</i>", rest, count=1)
    return f"{source[:start]}{opening}{inside}{closing}{rest}"


def with_numbers(source: str, reference: str, draw: random.Random) -> tuple[str, str] | None:
    """Other figures where both sides have the same ones, whatever parts them; None for none."""
    ours, theirs = Counter(figures(source)), Counter(figures(reference))
    shared = [number for number in ours if ours[number] == theirs[number] == 1]
    new = {number: "".join(draw.choice("123456789") for _ in number) for number in shared}

    def other(found: re.Match[str]) -> str:
        own = _NO_FIGURE.sub("", found.group())
        drawn = iter(new.get(own, own))
        return re.sub(r"\d", lambda _: next(drawn), found.group())

    if not shared:
        return None
    return NUMBERS.sub(other, source), NUMBERS.sub(other, reference)


def figures(text: str, numbers: re.Pattern[str] = NUMBERS) -> list[str]:
    """The figures of each number of a text."""
    return [_NO_FIGURE.sub("", found.group()) for found in numbers.finditer(text)]


def _is_shared(word: str, source: str, reference: str) -> bool:
    """A name or number that stands once on either side."""
    if len(word) < 2 or not (word[0].isupper() or word[0].isdigit()):
        return False
    return WORD.findall(source).count(word) == 1 == WORD.findall(reference).count(word)
