"""Numbers: others in their place, figures for words, and symbols where a server masks them."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

from model.data.augmentation.anchors import WORD
from model.data.augmentation.noise import Pair

_PLAIN = re.compile(r"(?<![\d.,])\d+(?![\d.,]*\d)")
_NUMBER = re.compile(r"(?<![^\W_])(?<!⟦)\d(?:[\d.,:'’/–-]*\d)?(?!⟧)")
_SIGN = re.compile(r"\D")


def renumbered(source: str, target: str, draw: random.Random) -> Pair:
    """Other numbers where both sides have the same ones, each once."""
    ours, theirs = _PLAIN.findall(source), _PLAIN.findall(target)
    shared = [n for n in ours if ours.count(n) == 1 and theirs.count(n) == 1]
    new = {number: _like(number, draw) for number in shared}

    def other(found: re.Match[str]) -> str:
        return new.get(found.group(), found.group())

    return _PLAIN.sub(other, source), _PLAIN.sub(other, target)


def counted(source: str, target: str, words: Mapping[str, str], draw: random.Random) -> Pair:
    """Figures where both sides have a number word, each once: above one, so that plurals fit.

    Args:
        source, target: the pair.
        words: number words of the source's language and what they are in the target's.
        draw: of the figures.
    """
    ours, theirs = _lowered(source), _lowered(target)
    figures: tuple[dict[str, str], dict[str, str]] = {}, {}
    for word, other in words.items():
        if ours.count(word) == 1 == theirs.count(other):
            figures[0][word] = figures[1][other] = str(draw.randint(2, 10 ** draw.randint(1, 4)))
    return _with_figures(source, figures[0]), _with_figures(target, figures[1])


def hidden(source: str, target: str, symbols: Sequence[str], draw: random.Random) -> Pair:
    """Reserved symbols where both sides have the same figures, whatever parts them, each once."""
    free = [symbol for symbol in symbols if symbol not in source]
    ours, theirs = (_numbers(side) for side in (source, target))
    shared = [n for n in ours if ours.count(n) == 1 and theirs.count(n) == 1][: len(free)]
    new = dict(zip(shared, draw.sample(free, len(shared)), strict=True))

    def symbol(found: re.Match[str]) -> str:
        return new.get(_SIGN.sub("", found.group()), found.group())

    return _NUMBER.sub(symbol, source), _NUMBER.sub(symbol, target)


def has_number(source: str, target: str, words: Mapping[str, str]) -> bool:
    """Whether one of the changes above may find something in a pair."""
    ours = {*_numbers(source), *(words[w] for w in _lowered(source) if w in words)}
    return not ours.isdisjoint([*_numbers(target), *_lowered(target)])


def _like(number: str, draw: random.Random) -> str:
    """Another number, mostly of as many digits."""
    digits = len(number) if draw.random() < 0.7 else draw.randint(1, 7)
    return str(draw.randrange(10 ** (digits - 1), 10**digits))


def _lowered(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def _numbers(text: str) -> list[str]:
    """The figures of each number."""
    return [_SIGN.sub("", number) for number in _NUMBER.findall(text)]


def _with_figures(text: str, figures: Mapping[str, str]) -> str:
    return WORD.sub(lambda found: figures.get(found.group().lower(), found.group()), text)
