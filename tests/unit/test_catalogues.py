"""Gettext catalogues: what is translated, and that nothing else changes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.formats.catalogue import Catalogue
from serving.formats.document import Document

CATALOGUE = """\
# A translator's comment.
#, fuzzy
msgid ""
msgstr ""
"Language: de\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#. For the programmer
#: main.c:10 other.c:99
#, c-format
msgctxt "menu"
msgid "Open %s"
msgstr ""

#: main.c:12
msgid   "Odd    spacing stays"
msgstr "Ist   da"

#| msgid "Old guess"
msgid ""
"  Several lines\\n"
"of \\"text\\".\\n"
msgstr ""

#, fuzzy
msgid "Guessed"
msgstr "Geraten"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] ""

#~ msgid "Gone"
#~ msgstr ""

msgid "After what is gone"
msgstr ""
"""


def shout(document: Document) -> str:
    return document.write([segment.text.upper() for segment in document.segments])


def same(document: Document) -> str:
    return document.write([segment.text for segment in document.segments])


def test_only_missing_translations_are_asked_for() -> None:
    texts = [segment.text for segment in Catalogue(CATALOGUE).segments]
    assert texts == ["Open %s", 'Several lines\nof "text".', "%d files", "After what is gone"]


def test_lines_of_a_catalogue_that_need_not_change_do_not() -> None:
    before, after = CATALOGUE.splitlines(), shout(Catalogue(CATALOGUE)).splitlines()
    kept = [line for line in after if line in before]
    gone = [line for line in before if line not in after]
    assert [line for line in after if line not in before] == [
        'msgstr "OPEN %S"',
        '"  SEVERAL LINES\\n"',
        '"OF \\"TEXT\\".\\n"',
        'msgstr[1] "%D FILES"',
        'msgstr "AFTER WHAT IS GONE"',
    ]
    assert len(kept) + 5 == len(after)
    assert gone == ['msgstr[1] ""']


def test_a_translated_catalogue_is_what_polib_would_have_it() -> None:
    expected = polib.pofile(CATALOGUE)
    for entry in expected.untranslated_entries():
        if entry.msgid_plural:
            entry.msgstr_plural[1] = entry.msgid_plural.upper()
        else:
            entry.msgstr = entry.msgid.upper()
    assert str(polib.pofile(shout(Catalogue(CATALOGUE)))) == str(expected)


def test_all_entries_can_be_translated_anew_and_flagged() -> None:
    document = Catalogue(CATALOGUE, again=True, mark_fuzzy=True)
    entries = polib.pofile(shout(document))
    live = [entry for entry in entries if not entry.obsolete]
    assert all(entry.fuzzy for entry in live)
    assert live[0].flags == ["fuzzy", "c-format"]
    assert live[0].comment == "For the programmer"
    assert live[2].previous_msgid == "Old guess"
    assert live[4].msgstr_plural == {0: "%D FILE", 1: "%D FILES"}
    assert [entry.flags for entry in entries if entry.obsolete] == [[]]
    assert same(Catalogue(shout(document))) == shout(document), "nothing is missing any more"


@pytest.mark.parametrize(
    ("header", "forms"),
    [
        ("nplurals=1; plural=0;", ["ITEMS"]),
        ("nplurals=2; plural=(n > 1);", ["ITEM", "ITEMS"]),
        ("nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : 1);", ["ITEM", "ITEMS", "ITEMS"]),
        ("nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : 2);", ["ITEMS", "ITEM", *["ITEMS"] * 4]),
        ("nplurals=INTEGER; plural=EXPRESSION;", ["ITEM", "ITEMS"]),
        ("nplurals=2; plural=__import__;", ["ITEM", "ITEMS"]),
    ],
)
def test_plurals_have_the_forms_of_the_language(header: str, forms: list[str]) -> None:
    text = f'msgid ""\nmsgstr "Plural-Forms: {header}\\n"\n\n'
    text += 'msgid "item"\nmsgid_plural "items"\nmsgstr[0] ""\nmsgstr[1] ""'
    written = shout(Catalogue(text))
    (entry,) = polib.pofile(written)
    assert list(entry.msgstr_plural.values()) == forms
    assert not written.endswith("\n"), "as the file ended"


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext is not installed")
def test_gettext_accepts_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "de.po"
    document = Catalogue(CATALOGUE, again=True)
    path.write_text(same(document))
    done = subprocess.run(
        ["msgfmt", "--check-format", "-o", "/dev/null", str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


words = st.text(st.sampled_from("ab1 .-<>{}\\&\"'\u00e4\u2028\x0c%"), min_size=1, max_size=12)


@st.composite
def catalogues(draw: st.DrawFn) -> str:
    file = polib.POFile(wrapwidth=draw(st.sampled_from([0, 20, 78])))
    file.metadata = {"Plural-Forms": "nplurals=2; plural=n != 1;"}
    for number, source in enumerate(draw(st.lists(words, max_size=5))):
        entry = polib.POEntry(msgid=f"{number}{source}", comment=draw(st.sampled_from(["", "c"])))
        entry.obsolete = draw(st.booleans())
        entry.flags = draw(st.sampled_from([[], ["c-format"], ["fuzzy"]]))
        if draw(st.booleans()):
            entry.msgid_plural = source
            entry.msgstr_plural = {0: draw(words), 1: draw(st.just("") | words)}
        else:
            entry.msgstr = draw(st.just("") | words)
        file.append(entry)
    return str(file).replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@settings(deadline=None)
@given(catalogues(), st.booleans(), st.booleans())
def test_catalogues_keep_everything_else(text: str, again: bool, mark_fuzzy: bool) -> None:
    document = Catalogue(text, again, mark_fuzzy)
    written = shout(document)
    if not document.segments:
        assert written == text
    before, after = _read(text), _read(written)
    for old, new in zip(before, after, strict=True):
        for name in ("msgid", "msgid_plural", "msgctxt", "comment", "obsolete"):
            assert getattr(old, name) == getattr(new, name)
        pairs = [(old.msgid, old.msgstr, new.msgstr)]
        if old.msgid_plural:
            sources = (old.msgid, old.msgid_plural)
            pairs = [(sources[n], old.msgstr_plural[n], new.msgstr_plural[n]) for n in (0, 1)]
        for source, given_translation, translation in pairs:
            is_done = given_translation and not again
            keeps = old.obsolete or is_done or not source.strip()
            edge = len(source) - len(source.lstrip())
            changed = source[:edge] + source.strip().upper() + source[len(source.rstrip()) :]
            assert translation == (given_translation if keeps else changed)
        assert (
            set(new.flags) - set(old.flags) <= {"fuzzy"} if mark_fuzzy else new.flags == old.flags
        )
    assert written.count("\r\n") in (0, written.count("\n"))


def _read(text: str) -> list[polib.POEntry]:
    from serving.formats.catalogue import _Lines

    return list(polib.pofile(_Lines(text)))


def test_messages_with_tags_are_markup() -> None:
    entries = "".join(
        f'msgid "{text}"\nmsgstr ""\n\n' for text in ("a < b", "<b>c</b>", "d<br/>", "e &amp; f")
    )
    assert [s.markup for s in Catalogue(entries).segments] == [False, True, True, False]
