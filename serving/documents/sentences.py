"""Where the sentences of a line end: sentencex, and corrections of what it gets wrong."""

from __future__ import annotations

import re

import sentencex

_CLOSERS = "\"'”’“‘»«›‹)\\]}*_」』】）"
_EMOJI = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\ufe0e\ufe0f\u200d"
_CANDIDATE = re.compile(
    rf"(?:[.!?…‼-⁉؟۔।॥]+(?:[{_CLOSERS}]+[.!?…]*)?(?:\[\d{{1,3}}\])*(?=\s|$)|[。！？｡．]+[{_CLOSERS}]*)"
    rf"(?:\s?[{_EMOJI}]+(?=\s|$))?"
)
# What sentencex sees as a space: it would not split inside quotes, and takes quadratic time to
# look for the other half of a quote.
_HIDDEN = re.compile(
    rf"[\"”“„‟«»‹›()\[\]{{}}「」『』【】（）《》`{_EMOJI}]|(?<!\w)['’‘]|['’‘](?!\w)"
)
_EMPHASIS = str.maketrans("", "", "*_}")
"""Says nothing about a sentence's end; closing tags are shown as braces."""

_FOOTNOTE = re.compile(r"(?:\[\d+\])+$")

_WINDOW = 4000
"""Characters that sentencex sees at a time."""

_WORD = re.compile(r"[^\s\"'“”„‘’«»()\[\]]*$")

_BEFORE_NAMES = frozenset(
    [
        "capt",
        "col",
        "dr",
        "ft",
        "gen",
        "hon",
        "lt",
        "messrs",
        "mr",
        "mrs",
        "ms",
        "mt",
        "prof",
        "rep",
        "sen",
        "st",
        "vgl",
    ]
)
_BEFORE_NUMBERS = frozenset(
    [
        "abb",
        "abs",
        "approx",
        "art",
        "ca",
        "cf",
        "ch",
        "eq",
        "fig",
        "figs",
        "kap",
        "no",
        "nos",
        "nr",
        "p",
        "pp",
        "s",
        "sec",
        "sect",
        "str",
        "tab",
        "vol",
    ]
)
_DAYS_AND_MONTHS = frozenset(
    [
        "mon",
        "tue",
        "tues",
        "wed",
        "thu",
        "thur",
        "thurs",
        "fri",
        "sat",
        "sun",
        "jan",
        "feb",
        "mar",
        "apr",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
    ]
)
_BEFORE_SMALL = frozenset(
    [
        "abs",
        "bzgl",
        "bzw",
        "ca",
        "ed",
        "eds",
        "evtl",
        "exkl",
        "ggf",
        "inkl",
        "max",
        "min",
        "mind",
        "sog",
        "str",
        "vgl",
        "zzgl",
    ]
)
_BEFORE_ORDINALS = frozenset(
    ["ab", "am", "bis", "das", "dem", "den", "der", "des", "die", "im", "seit", "vom", "zum", "zur"]
)
_WORDS = frozenset(["fine", "me", "no", "ok", "okay"])
"""sentencex takes these for abbreviations (of Maine, number, Oklahoma)."""

_SPEECH = re.compile(
    r"(?:I|[A-Z][\w.'’-]*(?:\s[A-Z][\w'’-]*)?)\s(?:added|answered|asked|continued|cried|exclaimed|"
    r"explained|replied|said|says|shouted|thought|told|whispered|wondered|wrote|yelled)\b"
)
_SPACES = re.compile(r"\s*")
_OPENERS = re.compile(r"[\"'“‘„«‹(\[{¿¡\s]{0,8}")
GOES_ON = re.compile(  # German dates and ordinals
    r"(?:und|oder|bis|sowie|bzw|Jan|Feb|März|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Jh|Jahrhundert)"
    r"(?:uar|ruar|il|i|ust|t|tember|ober|ember)?\b"
)
_LISTED = re.compile(r"\W*(?:\d{1,3}|[^\W\d_])[.)]$")


def sentence_ends(line: str) -> list[int]:
    """Return the places in a line, in characters, at which sentences end; its own end is none."""
    if not line.strip():
        return []
    found = _proposed(_HIDDEN.sub(" ", line))
    ends: list[int] = []
    start = 0
    for candidate in _CANDIDATE.finditer(line):
        following = _next(line, candidate.end())
        if following == len(line):
            break
        verdict = _verdict(line, start, candidate, following)
        if verdict is None:
            verdict = any(
                i in found for i in range(candidate.start() + 1, _word_start(line, following) + 1)
            )
        if verdict:
            ends.append(candidate.end())
            start = following
    return ends


def _proposed(line: str) -> set[int]:
    """Where sentencex sees sentences begin, window by window, each from a beginning on."""
    found: set[int] = set()
    start = 0
    while start < len(line):
        window = line[start : start + _WINDOW]
        begun = [b["end_index"] for b in sentencex.get_sentence_boundaries("en", window)]
        inner = [start + place for place in begun if place < len(window)]
        found.update(inner)
        start = inner[-1] if inner and start + _WINDOW < len(line) else start + len(window)
    return found


def _next(line: str, place: int) -> int:
    found = _SPACES.match(line, place)
    return found.end() if found else place


def _word_start(line: str, place: int) -> int:
    """Behind quotes and brackets, a few at most: hostile text has a million of them."""
    found = _OPENERS.match(line, place)
    return found.end() if found else place


def _verdict(line: str, start: int, candidate: re.Match[str], following: int) -> bool | None:
    """Whether a sentence ends there; None: as sentencex says."""
    mark = _FOOTNOTE.sub("", candidate.group().translate(_EMPHASIS))
    after = line[following : following + 60]
    first = after.lstrip("\"'“‘„«‹([{¿¡*_")[:1]
    if mark[0] in "。！？｡．":
        return not (mark[-1] in "」』" and "\u3040" <= first <= "\u309f")
    if len(mark.rstrip()) > 1 and mark[-1] in _CLOSERS and mark[-1] not in ".!?…":
        return _after_closer(line, start, mark, after, first)
    if mark[0] in "؟۔।॥":
        return True
    if first.islower():
        word = _word(line, start, candidate.start())
        if word.lower() in _DAYS_AND_MONTHS | _BEFORE_SMALL or "." in word:
            return False
        return False if word.isdigit() and GOES_ON.match(after) else None
    if mark in (".",):
        return _after_full_stop(line, start, candidate.start(), after, first)
    return True if mark != "..." and (mark[0] != "…" or not after.startswith("I ")) else None


def _after_closer(line: str, start: int, mark: str, after: str, first: str) -> bool | None:
    if first.islower() or _SPEECH.match(after):
        return False
    if mark[-1] in ")]":
        return line[start] in "([" or None
    return True


def _word(line: str, start: int, end: int) -> str:
    found = _WORD.search(line, max(start, end - 40), end)
    return found.group() if found else ""


def _after_full_stop(line: str, start: int, end: int, after: str, first: str) -> bool | None:
    word = _word(line, start, end)
    small = word.lower()
    if end - start < 6 and _LISTED.match(line[start : end + 1]):
        return False
    if small in _BEFORE_NAMES or (word.isdigit() and GOES_ON.match(after)):
        return False
    if word.isdigit() and _word(line, start, end - len(word) - 1).lower() in _BEFORE_ORDINALS:
        return False
    if first.isdigit() and (small in _BEFORE_NUMBERS or small.endswith("str")):
        return False
    if small in _WORDS and not first.isdigit():
        return True
    if (
        len(word) == 1
        and word.islower()
        and re.search(r"\d\s?$", line[max(start, end - 4) : end - 1])
    ):
        return True
    return None
