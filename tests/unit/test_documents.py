"""Nothing of a text is lost on its way through sentences, and nothing is added."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.documents.document import Document, Translated
from serving.documents.wishes import Wishes
from serving.errors import RequestError
from tests.unit.made_up_documents import EXAMPLES, SHIPPED, copied, documents

LIMITS = st.sampled_from([8, 20, 1000])


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents(markup=False), LIMITS)
def test_a_text_whose_sentences_come_back_comes_back(text: str, limit: int) -> None:
    document, joined = copied(text, Wishes(), limit=limit)
    assert joined == text
    assert all(0 < len(SHIPPED.encode(segment)) <= limit for segment in document.segments)
    assert all(
        text[start:end] == part.source
        for (start, end), part in zip(document.spans, document.parts, strict=True)
    )


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents(markup=True), LIMITS)
def test_markup_whose_sentences_come_back_comes_back(text: str, limit: int) -> None:
    document, joined = copied(text, Wishes(format="html"), limit=limit)
    assert joined == text
    assert all(0 < len(SHIPPED.encode(segment)) <= limit for segment in document.segments)


class NoSymbols:
    """The shipped vocabulary as if it had no reserved symbols."""

    symbols: Sequence[str] = ()
    symbol_ids: Sequence[int] = ()
    spelling_ids = SHIPPED.spelling_ids
    encode = staticmethod(SHIPPED.encode)
    decode = staticmethod(SHIPPED.decode)


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(st.booleans().flatmap(lambda markup: st.tuples(st.just(markup), documents(markup))))
def test_a_vocabulary_without_symbols_loses_nothing_either(case: tuple[bool, str]) -> None:
    markup, text = case
    document, joined = copied(text, Wishes(format="html" if markup else "text"), NoSymbols(), 20)
    assert joined == text
    assert not any(part.masked for part in document.parts)


def test_a_vocabulary_without_symbols_has_its_sentences_cut_around_what_is_masked() -> None:
    document = Document.parse("Dear {name}, you have %d messages.", Wishes(), NoSymbols(), 99)
    assert document.segments == ["Dear", ", you have", "messages."]
    assert document.between == ["", " {name}", " %d ", ""]


BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents(markup=False), st.text(st.characters(codec="utf-8"), max_size=9))
def test_as_many_lines_come_out_as_went_in(text: str, noise: str) -> None:
    """Even if a model spells a line break."""
    document = Document.parse(text, Wishes(), SHIPPED, 1000)
    outputs = [Translated(noise.replace("⟦", "") + segment) for segment in document.segments]
    joined = document.join(outputs)
    breaks = [character for character in text if character in BREAKS]
    # What is masked, in one stretch of a sentence, holds none.
    assert [character for character in joined if character in BREAKS] == breaks


def test_blank_lines_marks_of_lists_and_separators_stay() -> None:
    text = "Title\r\n\r\n  - one\u00a0two\n  2) three.\u2003Four.\n\n\n> a\tb \n# x\n   \n"
    document = Document.parse(text, Wishes(), SHIPPED, 1000)
    assert document.segments == ["Title", "one two", "three.", "Four.", "a", "b", "x"]
    joined = document.join([Translated(f"{i}!") for i in range(7)])
    assert joined == "0!\r\n\r\n  - 1!\n  2) 2!\u20033!\n\n\n> 4!\t5! \n# 6!\n   \n"
    assert document.spans[1] == (13, 20)


def test_nothing_but_punctuation_is_not_translated() -> None:
    for text in ["", " ", "...", "---\n***\n", "%s, %s!", "😀", "\ufeff", "⟦0⟧.", "{a}/{b}"]:
        document = Document.parse(text, Wishes(), SHIPPED, 1000)
        assert document.segments == []
        assert document.join([]) == text


def test_half_a_character_is_refused() -> None:
    with pytest.raises(RequestError, match="not valid Unicode"):
        Document.parse("a\ud800", Wishes(), SHIPPED, 1000)


def test_more_or_fewer_translations_than_segments_are_refused() -> None:
    document = Document.parse("One. Two.", Wishes(), SHIPPED, 1000)
    with pytest.raises(ValueError, match="zip"):
        document.join([Translated("Eins.")])


# White space inside of sentences


def translate(text: str, *outputs: str, **wishes: object) -> str:
    """The join of a text whose segments are translated so."""
    document = Document.parse(text, Wishes(**wishes), SHIPPED, 1000)  # type: ignore[arg-type]
    document = Document.from_json(document.to_json())
    return document.join([Translated(output) for output in outputs])


def test_a_space_between_the_same_neighbours_comes_back() -> None:
    assert translate("It is 5\u00a0km  away.", "Es ist 5 km away.") == "Es ist 5\u00a0km  away."
    assert translate("It is 5\u00a0km.", "5 km ist es.") == "5\u00a0km ist es."
    assert translate("It is 5\u00a0km.", "Es ist weit.") == "Es ist weit."


# Cutting


def test_a_long_sentence_is_cut_at_the_borders_of_its_clauses() -> None:
    text = "I came home rather late; he was there, and we talked a lot: about you, and about me."
    document = Document.parse(text, Wishes(), SHIPPED, 14)
    assert document.cuts == 1
    assert len(document.segments) > 1
    assert all(len(SHIPPED.encode(segment)) <= 14 for segment in document.segments)
    assert all(segment[-1] in ";,:." for segment in document.segments)
    strange = Document.parse(text.replace(";", "↯"), Wishes(), SHIPPED, 14)
    assert strange.segments[0].startswith("I came home rather late⟦0⟧")


def test_a_long_sentence_without_clauses_is_cut_at_spaces_and_a_huge_word_anywhere() -> None:
    document = Document.parse("one two three four five six seven", Wishes(), SHIPPED, 8)
    assert all(
        " " + segment + " " in " one two three four five six seven "
        for segment in document.segments
    )
    word = "Donaudampfschifffahrtsgesellschaft" * 9
    document, joined = copied(word, Wishes(), limit=12)
    assert "".join(document.segments) == joined == word
    assert document.cuts == 1


def test_no_cut_parts_a_letter_from_its_accent() -> None:
    word = "o\u0308" * 200
    document = Document.parse(word, Wishes(), SHIPPED, 10)
    assert len(document.segments) > 5
    assert all(segment[0] == "o" for segment in document.segments)


def test_only_sentences_longer_than_the_limit_count_as_cut() -> None:
    assert Document.parse("One. Two. Three.", Wishes(), SHIPPED, 8).cuts == 0
    long = "one two three four five six seven eight. "
    assert Document.parse(long * 3, Wishes(), SHIPPED, 8).cuts == 3


# Linear time


def counted(text: str, markup: bool) -> int:
    """Characters that a codec sees while a text is parsed."""
    seen = 0

    class Counting(NoSymbols):
        symbols = SHIPPED.symbols
        symbol_ids = SHIPPED.symbol_ids

        @staticmethod
        def encode(text: str) -> list[int]:
            nonlocal seen
            seen += len(text)
            return SHIPPED.encode(text)

    Document.parse(text, Wishes(format="html" if markup else "text"), Counting(), 100)
    return seen


@pytest.mark.parametrize(
    "unit", ["a", "a ", "a.", "a. ", "aé", "<", "(a ", "%s a ", "😀a ", "<b>a"]
)
@pytest.mark.parametrize("markup", [False, True])
def test_twice_the_text_is_twice_the_work(unit: str, markup: bool) -> None:
    once, twice = (counted(unit * (size // len(unit)), markup) for size in (3000, 6000))
    assert twice <= 2.3 * once + 1000
