"""Numbers are kept figure by figure, and parted as the target language parts them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.bundle import manifest
from serving.documents.document import Document, Translated
from serving.documents.numbers import AMOUNTS, NUMBERS, Numbers, amounts
from serving.documents.wishes import Wishes
from serving.engine import EngineSpec
from serving.errors import ConfigError
from serving.words import SYMBOL
from tests.unit.made_up_documents import EXAMPLES, SHIPPED, copied, documents
from tests.unit.test_documents import NoSymbols

GERMAN = Numbers("1,234.5", "1.234,5")
COPIED = Numbers("1,234.5", "1,234.5")


def written(text: str, numbers: Numbers = GERMAN) -> str:
    """A text with its numbers in the other language's way."""
    for start, end, target in reversed(list(numbers.find(text))):
        if target is not None:
            text = text[:start] + target + text[end:]
    return text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1,234 men", "1.234 men"),
        ("1,234,567.89", "1.234.567,89"),
        ("pi is 3.14159.", "pi is 3,14159."),
        ("from 1,000 to 2.5", "from 1.000 to 2,5"),
        ("-1.5 or +2.25", "-1,5 or +2,25"),
        ("$1,000.50, €3.5m and 2.5%", "$1.000,50, €3,5m and 2,5%"),
        ("1.5-2.5 or 1,000–2,000", "1,5-2,5 or 1.000–2.000"),
        ("42 of 1000 in 1990", "42 of 1000 in 1990"),
        (
            "on 12.5.2010 at 7:30, 192.168.0.1, 1/2/2010",
            "on 12.5.2010 at 7:30, 192.168.0.1, 1/2/2010",
        ),
        ("Python 3.11 has 1,000 functions", "Python 3.11 has 1.000 functions"),
        ("at 7.30 p.m. or 8.15am", "at 7.30 p.m. or 8.15am"),
        ("A4, 1990s, 3rd, x1.5", "A4, 1990s, 3rd, x1.5"),
        ("a 1.5km run with 2,500MHz", "a 1,5km run with 2.500MHz"),
        ("12,34,567 and 1,23", "12,34,567 and 1,23"),
    ],
)
def test_thousands_and_fractions_change_their_marks(text: str, wanted: str) -> None:
    assert written(text) == wanted


def test_other_languages() -> None:
    assert written("1.234,5 und 1.000", Numbers("1.234,5", "1,234.5")) == "1,234.5 und 1,000"
    french = Numbers("1,234.5", "1\u202f234,5")
    assert written("1,234,567.5 and 0.5", french) == "1\u202f234\u202f567,5 and 0,5"
    assert written("1,234.5", Numbers("1,234.5", "1234.5")) == "1234.5"
    assert written("1234.5", Numbers("1234.5", "1,234.5")) == "1234.5"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$3.50,", ["$3.50"]),
        ("[US$20bn]", ["US$20bn"]),
        ("-5%", ["-5%"]),
        ("£3–£5", ["£3", "£5"]),
        ("1,000,000¥ or §12a", ["1,000,000¥", "§12a"]),
        ("100%ig, $name, 7, a5%", []),
    ],
)
def test_amounts_are_numbers_with_their_signs(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end, _ in amounts(text)] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I have 3 cats, 10-20 dogs.", ["3", "10-20"]),
        (
            "5km, 1.5kg, 32GB, 20kHz, 4x4, 3D, 30°C",
            ["5km", "1.5kg", "32GB", "20kHz", "4x4", "3D", "30°C"],
        ),
        ("the 3rd, 21st of the 1990s, 10am", []),
        ("A4, COVID-19, x86, v1.5", ["19"]),
        ("call +49 (30) 123-4567 now", ["+49 (30) 123-4567"]),
        ("+5 degrees, -5.", ["+5", "-5"]),
        ("in 1990 300 men", ["1990", "300"]),
        ("16-year-old", ["16"]),
    ],
)
def test_what_a_number_is(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end, _ in GERMAN.find(text)] == found


@given(st.integers(0, 10**15), st.none() | st.integers(0, 999_999))
def test_there_and_back_is_the_same(whole: int, fraction: int | None) -> None:
    number = f"{whole:,}" + ("" if fraction is None else f".{fraction}")
    other = written(number)
    assert re.sub(r"\D", "", other) == re.sub(r"\D", "", number)
    assert written(other, Numbers("1.234,5", "1,234.5")) == number


@pytest.mark.parametrize(
    "example", ["", "1234", "1.234.5", "1,234.50", "2,234.5", "1x234.5", None, 5]
)
def test_another_number_tells_no_way_of_writing(example: object) -> None:
    with pytest.raises(ConfigError, match=r"told by the number 1,234\.5, not by"):
        Numbers.from_dict({"source": "1,234.5", "target": example}, "model.json")


def test_a_bundle_remembers_them() -> None:
    spec = EngineSpec(9, 4, 1, 1, 4, pad_id=0, start_id=1, eos_id=2)
    assert '"numbers"' not in manifest(spec, {})
    assert '"target": "1.234,5"' in manifest(spec, {}, GERMAN)
    with pytest.raises(ConfigError, match=r"model\.json: numbers must have a source and a target"):
        Numbers.from_dict({"source": "1,234.5"}, "model.json")


@pytest.mark.parametrize(
    "piece", ["1.", "$1", "1'", "A1:", "-1,", "$$", "5%", "1", "1,234.", "1x", "+1 ", "1km"]
)
def test_they_are_found_in_linear_time(piece: str) -> None:
    """A quadratic search would take hours."""
    text = piece * 250_000
    for expression in (AMOUNTS, NUMBERS):
        assert len(list(expression.finditer(text))) <= len(text)
    assert len(written(text)) == len(text)


# In documents


def parse(text: str, numbers: Numbers | None = GERMAN, **wishes: str) -> Document:
    return Document.parse(text, Wishes(**wishes), SHIPPED, 1000, numbers)  # type: ignore[arg-type]


def test_the_model_sees_symbols() -> None:
    document = parse("I paid 1,500 dollars for 3 cats.")
    assert document.segments == ["I paid ⟦0⟧ dollars for ⟦1⟧ cats."]
    output = document.join([Translated("Für ⟦1⟧ Katzen zahlte ich ⟦0⟧ Dollar.")])
    assert output == "Für 3 Katzen zahlte ich 1.500 Dollar."


def test_without_a_way_of_writing_only_amounts_are_kept() -> None:
    document = parse("I paid $1,500 for 3 cats.", None)
    assert document.segments == ["I paid ⟦0⟧ for 3 cats."]
    assert document.join([Translated("Ich zahlte ⟦0⟧.")]) == "Ich zahlte $1,500."


def test_what_is_nothing_but_numbers_needs_no_model() -> None:
    document = parse("1,234.5\n10:30 – 11:45\n| 7 | 8.25 |\n2 + 2 = 4")
    assert document.segments == []
    assert document.join([]) == "1.234,5\n10:30 – 11:45\n| 7 | 8,25 |\n2 + 2 = 4"


def test_numbers_in_placeholders_and_addresses_are_no_numbers() -> None:
    text = "See %1$s, {0}, https://x.org/1,234 and v1.5 for 9.5 h."
    document = parse(text)
    (part,) = document.parts
    assert [m.written for m in part.masked] == ["%1$s", "{0}", "https://x.org/1,234", "9,5"]


def test_a_glossary_and_protected_terms_go_before() -> None:
    document = Document.parse(
        "Boeing 7.5 and Route 1,066 cost 1,000.",
        Wishes(protect=["Route 1,066"], glossary={"7.5": "siebeneinhalb"}),
        SHIPPED,
        1000,
        GERMAN,
    )
    (part,) = document.parts
    assert [m.written for m in part.masked] == ["siebeneinhalb", "Route 1,066", "1.000"]


def test_tags_inside_a_number_leave_it_as_it_is() -> None:
    document = parse("I have 1,<b>234</b> cats and <i>5,678</i> dogs.", format="html")
    assert document.join([Translated(document.segments[0])]) == (
        "I have 1,<b>234</b> cats and <i>5.678</i> dogs."
    )


def test_a_vocabulary_without_symbols_keeps_its_sentences() -> None:
    for numbers in (None, GERMAN):
        document = Document.parse("It cost $20 in 1990.", Wishes(), NoSymbols(), 99, numbers)
        assert document.segments == ["It cost $20 in 1990."]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.booleans().flatmap(lambda markup: st.tuples(st.just(markup), documents(markup))))
def test_documents_come_back(case: tuple[bool, str]) -> None:
    markup, text = case
    wishes = Wishes(format="html" if markup else "text")
    assert copied(text, wishes, numbers=COPIED)[1] == text


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents(markup=False))
def test_no_number_reaches_the_model(text: str) -> None:
    """But for those glued to a letter, which a symbol stands for here."""
    document = parse(text)
    for part in document.parts:
        assert not NUMBERS.search(SYMBOL.sub("x", part.text))
