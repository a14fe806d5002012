"""Gettext catalogues (.po, .pot): `polib` reads them, and only lines that change are written.

Everything else, comments, flags, wrapping, obsolete entries and order, stays byte for byte, so
that a version control system shows the translations and nothing more.
"""

from __future__ import annotations

import dataclasses
import gettext
import io
import re
from collections.abc import Iterator, Sequence

import polib

from serving.errors import DragomanError
from serving.formats.document import segment_of

FUZZY = "fuzzy"
_EDGES = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)
_FORMS = re.compile(r"nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;]+)")


@dataclasses.dataclass(frozen=True)
class _Place:
    """A form of an entry that is to be translated.

    Attributes:
        entry: the number of its entry.
        form: of the plural; None where the entry has none.
        before: white space before its text, which stays.
        text: what is translated.
        after: white space after it.
    """

    entry: int
    form: int | None
    before: str
    text: str
    after: str


_Forms = dict[int | None, str]
"""Translations of one entry by the number of the form, None where it has no plural."""


class Catalogue:
    """A catalogue; where nothing is missing, it is written byte for byte as it was read."""

    def __init__(self, text: str, again: bool = False, mark_fuzzy: bool = False) -> None:
        """Read a catalogue.

        Args:
            text: the file's.
            again: whether entries that have a translation are translated as well.
            mark_fuzzy: whether what is translated is flagged for a person to check.

        Raises:
            DragomanError: it is no catalogue; the message names the line.
        """
        try:
            # The line feed keeps a file's name from being taken for a file.
            self._file = polib.pofile(_Lines(text + "\n"), encoding="utf-8")
        except (OSError, ValueError) as error:
            line = re.findall(r"\(line (\d+)\)", str(error))  # the message holds the whole file
            raise DragomanError(f"no gettext catalogue at line {line[-1]}") from error
        _check_charset(self._file.metadata.get("Content-Type", ""))
        self._lines = _Lines(text).splitlines()
        self._mark_fuzzy = mark_fuzzy
        self._count, self._singular = _plural_forms(self._file.metadata.get("Plural-Forms", ""))
        self._places = list(self._find(again))
        self.segments = [segment_of(place.text) for place in self._places]

    def write(self, translations: Sequence[str]) -> str:
        """The catalogue with these translations."""
        changed: dict[int, _Forms] = {}
        for place, translation in zip(self._places, translations, strict=True):
            forms = changed.setdefault(place.entry, {})
            forms[place.form] = f"{place.before}{translation}{place.after}"
        lines = list(self._lines)
        for number in sorted(changed, reverse=True):  # so that the numbers before stay right
            self._rewrite(lines, self._file[number], changed[number])
        return "".join(lines)

    def _find(self, again: bool) -> Iterator[_Place]:
        for number, entry in enumerate(self._file):
            if entry.obsolete or not entry.msgid:
                continue
            for form, source, translation in self._forms(entry):
                edges = _EDGES.fullmatch(source)
                if edges and edges[2] and (again or not translation):
                    yield _Place(number, form, *edges.groups())

    def _forms(self, entry: polib.POEntry) -> Iterator[tuple[int | None, str, str]]:
        """Number, source and present translation of each form."""
        if not entry.msgid_plural:
            yield None, entry.msgid, entry.msgstr
            return
        count = self._count or max(len(entry.msgstr_plural), 2)
        for form in range(count):
            is_singular = count > 1 and form == self._singular
            source = entry.msgid if is_singular else entry.msgid_plural
            yield form, source, entry.msgstr_plural.get(form, "")

    def _plural(self, entry: polib.POEntry, forms: _Forms) -> dict[int, str]:
        """All forms, less the empty ones that the language does not have."""
        merged = {**entry.msgstr_plural, **{n: text for n, text in forms.items() if n is not None}}
        most = self._count or len(merged)
        return {form: text for form, text in merged.items() if text or form < most}

    def _rewrite(self, lines: list[str], entry: polib.POEntry, forms: _Forms) -> None:
        begin = max((entry.linenum or 0) - 1, 0)
        start = next(n for n in range(begin, len(lines)) if lines[n].lstrip().startswith("msgstr"))
        end = start
        while end < len(lines) and lines[end].lstrip().startswith(("msgstr", '"')):
            end += 1
        newline = "\r\n" if lines[start].endswith("\r\n") else "\n"
        written = polib.POEntry(
            msgid=entry.msgid,
            msgstr=forms.get(None, ""),
            msgid_plural=entry.msgid_plural,
            msgstr_plural=self._plural(entry, forms) if entry.msgid_plural else {},
        )
        text = written.__unicode__(self._file.wrapwidth)
        found = text[text.index("\nmsgstr") + 1 :].rstrip("\n").split("\n")
        is_ended = lines[end - 1].endswith("\n")
        lines[start:end] = [line + newline for line in found[:-1]]
        lines.insert(start + len(found) - 1, found[-1] + (newline if is_ended else ""))
        if self._mark_fuzzy and FUZZY not in entry.flags:
            _flag(lines, begin, start, newline)


class _Lines(str):
    """A text whose lines end with a line feed alone; U+2028 and others may stand inside."""

    __slots__ = ()

    def splitlines(self, keepends: bool = False) -> list[str]:  # noqa: ARG002
        return list(io.StringIO(self))


def _flag(lines: list[str], begin: int, end: int, newline: str) -> None:
    """Flag the entry of these lines as fuzzy."""
    for number in range(begin, end):
        if lines[number].startswith("#,"):
            flags = lines[number][2:].strip()
            lines[number] = f"#, {FUZZY}, {flags}{newline}" if flags else f"#, {FUZZY}{newline}"
            return
        if lines[number].lstrip().startswith(("#|", "msg")):
            lines.insert(number, f"#, {FUZZY}{newline}")
            return


def _plural_forms(header: str) -> tuple[int, int]:
    """How many forms a plural has (0: the header does not say) and which one is for 1 thing."""
    found = _FORMS.search(header)
    if not found:
        return 0, 0
    try:
        return int(found[1]), gettext.c2py(found[2].strip())(1)
    except (ValueError, RecursionError, ZeroDivisionError):
        return int(found[1]), 0


def _check_charset(content_type: str) -> None:
    charset = content_type.partition("charset=")[2].strip()
    if charset and charset.upper() not in ("UTF-8", "UTF8", "ASCII", "US-ASCII", "CHARSET"):
        raise DragomanError(
            f"the catalogue says that it is {charset}; convert it with: msgconv --to-code=UTF-8"
        )
