"""Sentences in capitals are translated in small letters and come back in capitals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.documents.capitals import lowered
from serving.documents.document import Document, Translated
from serving.documents.wishes import Wishes
from tests.unit.made_up_documents import SHIPPED as CODEC


@pytest.mark.parametrize(
    ("text", "small"),
    [
        ("WHERE IS THE DOG?", "Where is the dog?"),
        ("“WARNING!”", "“Warning!”"),
        ("SEE ⟦0⟧ AND 3 OTHERS", "See ⟦0⟧ and 3 others"),
        ("DON'T STOP", "Don't stop"),
        ("NATO", None),
        ("I am", None),
        ("THE iPhone IS NEW", None),
        ("今天天气很好啊啊", None),
        ("123456 7890", None),
        ("İSTANBUL İSTANBUL", None),  # whose small letters are two characters
        ("", None),
    ],
)
def test_what_is_in_capitals(text: str, small: str | None) -> None:
    assert lowered(text) == small


@given(st.text(max_size=30))
def test_places_stay(text: str) -> None:
    small = lowered(text)
    assert small is None or len(small) == len(text)


@pytest.mark.parametrize(
    ("text", "format_", "translation", "expected"),
    [
        ("WHERE IS {name}?\n", "text", "Wo ist ⟦0⟧?", "WO IST {name}?\n"),
        ("THE BIG STREET.", "text", "Die große Straße.", "DIE GROSSE STRASSE."),
        (
            "<p>WHERE OR <b>WHEN</b>?</p>",
            "html",
            "Wo oder wann?",
            "<p>WO ODER <b>WANN?</b></p>",
        ),
    ],
)
def test_a_translation_is_in_capitals(
    text: str, format_: str, translation: str, expected: str
) -> None:
    document = Document.parse(text, Wishes(format_), CODEC, 1000)
    again = Document.from_json(document.to_json())
    (segment,) = again.segments
    assert segment.startswith(("Where", "The"))
    assert again.join([Translated(translation)]) == expected
    assert again.join([Translated(CODEC.decode(CODEC.encode(segment)))]) == text
