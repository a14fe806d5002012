"""What the search is given of a request's texts."""

from __future__ import annotations

import pytest

from serving.documents.numbers import Numbers
from serving.documents.segment import CAPITAL_TARGET, KEPT, TARGET, Masked
from serving.documents.symbols import as_symbols
from serving.preparation import Preparation
from serving.request_options import Options
from tests.unit.made_up_documents import SHIPPED

PREPARE = Preparation(SHIPPED, can_align=False, numbers=Numbers("1,234.5", "1.234,5"))


@pytest.mark.parametrize(
    ("text", "prefix", "wanted"),
    [
        ("Dear {name}, hello.", "Hallo {name},", "Hallo ⟦0⟧,"),
        ("I have 1,500 cats and 3 dogs.", "Ich habe 3 Hunde", "Ich habe ⟦1⟧ Hunde"),
        ("I have 1,500 cats and 3 dogs.", "Ich habe 1.500", "Ich habe ⟦0⟧"),
        ("I have 3 cats and 3 dogs.", "Je 3, 3, 3", "Je ⟦0⟧, ⟦1⟧, 3"),
        ("I have 3 cats.", "Ich habe 30 und A3", "Ich habe 30 und A3"),
        ("I have 3 cats.", "Ich habe", "Ich habe"),
        ("I have 0 cats and 1 dog.", "Mit 1 und 0", "Mit ⟦1⟧ und ⟦0⟧"),
    ],
)
def test_what_is_masked_is_masked_in_the_prefix(text: str, prefix: str, wanted: str) -> None:
    """Else it would come twice: as it stands in the prefix, and behind it."""
    prepared = PREPARE([text, "No cats."], Options(prefix=prefix))
    assert prepared.prefixes == {
        0: tuple(SHIPPED.encode(wanted)[:-1]),
        1: tuple(SHIPPED.encode(prefix)[:-1]),
    }


def test_a_glossary_stands_in_the_prefix_as_it_would_be_written() -> None:
    masked = [Masked("⟦0⟧", "hund", CAPITAL_TARGET), Masked("⟦1⟧", "katze", TARGET)]
    assert as_symbols("Hund, hund, Katze, katze", masked) == "⟦0⟧, hund, Katze, ⟦1⟧"
    assert as_symbols("(a+b)", [Masked("⟦3⟧", "(a+b)", KEPT)]) == "⟦3⟧"
    assert as_symbols("a", []) == "a"


@pytest.mark.parametrize("prefix", [None, "", " \n"])
def test_no_prefix_is_none(prefix: str | None) -> None:
    assert PREPARE(["I have 3 cats.", ""], Options(prefix=prefix)).prefixes == {}


def test_prefixes_are_of_first_sentences() -> None:
    texts = ["One. Two.", "", "7", "Three. Four."]
    prepared = PREPARE(texts, Options(prefix="Ja"))
    assert len(prepared.sentences) == 4
    assert set(prepared.prefixes) == {0, 2}
