"""Names that nobody has, to learn that names are copied letter by letter."""

from __future__ import annotations

import random
import string
from collections.abc import Callable

from model.data.augmentation.anchors import Anchor, Anchors
from model.data.augmentation.noise import Pair
from model.data.augmentation.replacing import Replacement, replaced, stem, words_of

BEGINNINGS = (
    *"bcdfghjklmnprstvwxyz",
    *("bl", "br", "ch", "cl", "dr", "fr", "gr", "kn", "ph", "pr", "qu", "sch", "sh", "st", "th"),
)
VOWELS = ("a", "e", "i", "o", "u", "a", "e", "i", "o", "u", "y", "ai", "au", "ee", "ei", "ie", "oo")
ENDINGS = ("", "", "", *"dklmnrstxz", "ck", "ff", "ll", "nd", "ng", "nn", "rd", "sch", "ss", "tt")

ACCENTS = {
    "a": "áàâãäåæ",
    "c": "ç",
    "d": "ð",
    "e": "éèêë",
    "i": "íìîï",
    "n": "ñ",
    "o": "óòôõöø",
    "s": "ß",
    "t": "þ",
    "u": "úùûü",
    "y": "ýÿ",
}
"""Letters of Latin-1 by what they look like."""

# What is written like a name and is none; 0 is a digit, A a letter, * a name.
LABELS = ("A0", "A00", "A-0", "A/A", "A&A", "* & *", "*/*", "*+*", "#00", "@*", "*_0", "A=0", "0%")


def renamed(pair: Pair, anchors: Anchors, draw: random.Random) -> Pair:
    """A pair with other names where both sides have the same ones, each once."""
    names = [stem(pair, anchor) for anchor in anchors.of(*pair)]
    return replaced(pair, [_other(anchor, draw) for anchor in names if _is_name(pair, anchor)])


def made_up(draw: random.Random) -> str:
    """A name of one to three syllables; a quarter of them with letters beyond ASCII."""
    syllables = [
        draw.choice(BEGINNINGS) * (place > 0 or draw.random() < 0.8) + draw.choice(VOWELS)
        for place in range(draw.choice((1, 1, 2, 2, 3)))
    ]
    name = "".join(syllables) + draw.choice(ENDINGS)
    if draw.random() < 0.25:
        place = draw.randrange(len(name))
        accented = draw.choice(ACCENTS.get(name[place], name[place]))
        name = f"{name[:place]}{accented}{name[place + 1 :]}"
    return f"{name[0].upper()}{name[1:]}"


def label(draw: random.Random) -> str:
    """A code, a pair of names, a mark before a name: what else is copied as it stands."""
    kinds: dict[str, Callable[[], str]] = {
        "0": lambda: draw.choice(string.digits),
        "A": lambda: draw.choice(string.ascii_uppercase),
        "*": lambda: made_up(draw),
    }
    return "".join(kinds[sign]() if sign in kinds else sign for sign in draw.choice(LABELS))


def _is_name(pair: Pair, anchor: Anchor) -> bool:
    ours, theirs = words_of(pair, anchor)
    return ours == theirs and ours[0].isupper()


def _other(anchor: Anchor, draw: random.Random) -> Replacement:
    kind = draw.random()
    if kind < 0.1:
        name = label(draw)
    elif kind < 0.2:
        name = f"{made_up(draw)}{draw.choice(' -')}{made_up(draw)}"
    else:
        name = made_up(draw)
    return Replacement(anchor, name, name)
