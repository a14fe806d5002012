"""Files that are translated: what is no language comes back byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from serving.errors import DragomanError
from serving.formats.catalogue import Catalogue
from serving.formats.document import Document, Segment
from serving.formats.encoding import read_text, write_text
from serving.formats.markup import Markup
from serving.formats.subtitles import Subtitles

SUBTITLES = """\
1
00:00:01,000 --> 00:00:02,500 X1:100 X2:200
Where have you
been all day?

2
0:0:3.5 --> 00:00:04,000
- Hello.
- Good morning, <i>Anna</i>!

007
00:00:05,000 --> 00:00:06,000
{\\an8}007

8
00:00:07,000 --> 00:00:08,000


"""


def shout(document: Document) -> str:
    return document.write([segment.text.upper() for segment in document.segments])


def same(document: Document) -> str:
    return document.write([segment.text for segment in document.segments])


def test_cues_are_sentences_or_speakers() -> None:
    assert Subtitles(SUBTITLES).segments == [
        Segment("Where have you been all day?"),
        Segment("Hello."),
        Segment("Good morning, <i>Anna</i>!", markup=True),
        Segment("007"),
    ]


def test_cues_are_broken_where_the_original_was() -> None:
    document = Subtitles(SUBTITLES)
    written = document.write(["Wo bist du denn den ganzen Tag gewesen?", "Hallo.", "Hei!", "8"])
    expected = SUBTITLES.replace(
        "Where have you\nbeen all day?", "Wo bist du denn den\nganzen Tag gewesen?"
    )
    expected = expected.replace("Hello.", "Hallo.").replace("Good morning, <i>Anna</i>!", "Hei!")
    assert written == expected.replace("{\\an8}007", "{\\an8}8")


@pytest.mark.parametrize("translation", ["Kurz", "Ein\n\nZwei drei"])
def test_a_translation_cannot_end_its_cue(translation: str) -> None:
    written = Subtitles("1\n00:00:01,000 --> 00:00:02,000\none\ntwo\n").write([translation])
    assert "\n\n" not in written
    assert " ".join(translation.split()) in written.replace("\n", " ")


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (Subtitles, "1\nno time\ntext\n", "no SubRip subtitles at line 1"),
        (
            Subtitles,
            SUBTITLES.replace("007\n00:", "007\nx00:", 1),
            "at line 12: a time",
        ),
        (Catalogue, "no catalogue", "no gettext catalogue at line 1$"),
        (Catalogue, 'msgid "a"\nmsgstr "b" "c"\n', "no gettext catalogue at line 2$"),
        (
            Catalogue,
            'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n',
            "ISO-8859-1; convert it with: msgconv",
        ),
    ],
)
def test_another_format_is_told(read: Callable[[str], Document], text: str, message: str) -> None:
    with pytest.raises(DragomanError, match=message):
        read(text)


words = st.text(st.sampled_from("ab1 .-<>{}\\&\"'\u00e4\u2028\x0c%"), min_size=1, max_size=12)


lines = st.lists(words, min_size=1, max_size=3)


@st.composite
def subtitle_files(draw: st.DrawFn) -> str:
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    cues = []
    for number, content in enumerate(draw(st.lists(lines, max_size=4))):
        head = [str(number), f"00:00:{number:02},000 --> 00:00:{number + 1:02},000"]
        cues.append(newline.join([*head, *content]))
    end = draw(st.sampled_from(["", newline, 2 * newline]))
    return (2 * newline).join(cues) + (end if cues else "")


@settings(deadline=None)
@given(subtitle_files())
@example("0\n00:00:00,000 --> 00:00:01,000\n<a\n>\n")
@example("0\n00:00:00,000 --> 00:00:01,000\na\n \nb\n")
def test_subtitles_come_back_byte_for_byte(text: str) -> None:
    assert same(Subtitles(text)) == text


@settings(deadline=None)
@given(st.text(max_size=50))
def test_markup_comes_back_byte_for_byte(text: str) -> None:
    assert same(Markup(text)) == text


def test_a_byte_order_mark_is_kept_and_other_encodings_are_told() -> None:
    for content in (b"\xef\xbb\xbfa\r\n", "ä\n".encode()):
        assert write_text(*read_text(None, content)) == content
    with pytest.raises(DragomanError, match="a.srt, line 2: not UTF-8 .*WINDOWS-1252"):
        read_text(Path("a.srt"), b"a\n\xfc")
    with pytest.raises(DragomanError, match="UTF-16"):
        read_text(Path("a.srt"), "a".encode("utf-16"))
