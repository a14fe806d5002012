"""SubRip subtitles (.srt): `srt` finds the cues, and only their texts are written anew.

Numbers, times, positions, tags of the whole cue, blank lines and line ends stay byte for byte. A
cue is translated as one text and broken where its original was; of a dialogue, lines that each
begin with a dash, every line is a text.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Sequence

import srt

from serving.errors import DragomanError
from serving.formats.document import segment_of, tags_of

_COMMAND = r"\{\\[^}]*\}"
"""Such as {\\an8}, which says where the cue stands."""

_DASH = r"[-\u2010\u2013\u2014]\s*(?=[^\W\d]|[\"'<\u00a1\u00bf\u2026])"
_SPEAKER = re.compile(rf"(?:\s|{_COMMAND}|<[^>]*>)*{_DASH}")
_BEFORE = re.compile(rf"(?:\s|{_COMMAND})*(?:{_DASH})?")
_ARROW = re.compile(r"-[ -] *>")
_TIME = re.compile(r"\d *-->.*")
_LINE = re.compile(r"[^\r\n]+")
_LINE_ENDS = re.compile(r"[\r\n]+")


@dataclasses.dataclass(frozen=True)
class _Piece:
    """A text of a cue and where it stands in the file.

    Attributes:
        start: of its first character.
        end: after its last one.
        text: its lines, joined by blanks.
        breaks: of each blank between lines, its place in `text` and the line end that it was.
    """

    start: int
    end: int
    text: str
    breaks: tuple[tuple[int, str], ...]


class Subtitles:
    """Subtitles; unchanged translations give the file back byte for byte."""

    def __init__(self, text: str) -> None:
        """Read subtitles.

        Raises:
            DragomanError: the text holds something else.
        """
        self._text = text
        try:
            self._pieces = list(_pieces(text)) if text.strip() else []
        except srt.SRTParseError as error:
            line = text.count("\n", 0, error.expected_start) + 1
            raise DragomanError(f"no SubRip subtitles at line {line}") from error
        self.segments = [segment_of(piece.text) for piece in self._pieces]

    def write(self, translations: Sequence[str]) -> str:
        """The subtitles with these translations."""
        parts, done = [], 0
        for piece, translation in zip(self._pieces, translations, strict=True):
            # A blank line would end the cue, and the lines are broken anew.
            line = " ".join(filter(None, _LINE_ENDS.split(translation)))
            parts += [self._text[done : piece.start], _broken(line, piece)]
            done = piece.end
        return "".join([*parts, self._text[done:]])


def _pieces(text: str) -> Iterator[_Piece]:
    """The texts of all cues.

    Raises:
        DragomanError: a line of times is wrong.
        srt.SRTParseError: something else is no cue.
    """
    place = 0
    for cue in srt.parse(text):
        if wrong := _TIME.search(cue.content):  # or it would be translated
            line = text.count("\n", 0, text.index(wrong[0], place)) + 1
            raise DragomanError(f"no SubRip subtitles at line {line}: a time that cannot be read")
        arrow = _ARROW.search(text, place)
        assert arrow is not None, "srt has found a time there"
        content = re.compile("\r?\n".join(map(re.escape, cue.content.split("\n"))))
        found = content.match(text, _next_line(text, arrow.end()))
        assert found is not None, "srt has found the content there"
        place = found.end()
        yield from _pieces_of(text, *found.span())


def _next_line(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end + 1


def _pieces_of(text: str, start: int, end: int) -> Iterator[_Piece]:
    """The texts of a cue: one, or one a line where every line is another speaker's."""
    lines = [found.span() for found in _LINE.finditer(text, start, end)]
    lines = [line for line in lines if _begin(text, *line) < line[1]]
    if not lines:
        return
    whole = _piece(text, lines)
    is_dialogue = len(lines) > 1 and all(_SPEAKER.match(text, *line) for line in lines)
    if is_dialogue or _breaks_a_tag(whole):
        yield from (_piece(text, [line]) for line in lines)
    else:
        yield whole


def _breaks_a_tag(piece: _Piece) -> bool:
    tags = tags_of(piece.text)
    return any(start < place < end for place, _ in piece.breaks for start, end in tags)


def _begin(text: str, start: int, end: int) -> int:
    """Where a line's text begins, after what is not translated."""
    found = _BEFORE.match(text, start, end)
    return found.end() if found else start


def _piece(text: str, lines: Sequence[tuple[int, int]]) -> _Piece:
    start = _begin(text, *lines[0])
    end = lines[-1][0] + len(text[slice(*lines[-1])].rstrip())
    joined, breaks, begin = "", [], start
    for (_, stop), (following, _) in itertools.pairwise(lines):
        joined += text[begin:stop]
        breaks.append((len(joined), text[stop:following]))
        joined += " "
        begin = following
    return _Piece(start, end, joined + text[begin:end], tuple(breaks))


def _broken(text: str, piece: _Piece) -> str:
    """Break a translation at the blanks nearest to where its original was broken."""
    tags = tags_of(text)
    blanks = [
        place
        for place, character in enumerate(text)
        if character == " " and not any(start < place < end for start, end in tags)
    ]
    characters = list(text)
    for place, line_end in piece.breaks:
        if not blanks:
            break
        wanted = place / len(piece.text) * len(text)
        nearest = min(blanks, key=lambda blank: abs(blank - wanted))
        characters[nearest] = line_end
        blanks = [blank for blank in blanks if blank > nearest]
    return "".join(characters)
