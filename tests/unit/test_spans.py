"""Every piece knows its characters, in the text as it was given."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.text import TextProcessor, normalise
from serving.words import Span, is_symbol, word_of_each, words

VOCABULARY = Path(__file__).parents[2] / "model_repository/translator/1/vocabulary.model"

ODD = (
    *("Tom ", " the", "don't", "\u27e63\u27e7", "\ufb01ne", "\ufdfa", "\u00bd", "1995", "e\u0301"),
    *("\u200b", "\u00ad", "\r\n", "\u3000", "\U0001f468\u200d\U0001f469", "\ud800"),
)
MIXED = st.lists(st.text(max_size=6) | st.sampled_from(ODD), max_size=8).map("".join)


@pytest.fixture(scope="module")
def text() -> TextProcessor:
    return TextProcessor.load(VOCABULARY)


def assert_ascending(spans: Sequence[Span], length: int) -> None:
    edges = list(itertools.chain.from_iterable(spans))
    assert edges == sorted(edges)
    assert all(0 <= edge <= length for edge in edges)


def covered(spans: Sequence[Span]) -> set[int]:
    return {place for span in spans for place in range(*span)}


@settings(deadline=None)
@given(MIXED)
def test_spans_of_any_text(text: TextProcessor, raw: str) -> None:
    ids, spans = text.encode_spans(raw)
    assert ids == text.encode(raw)
    assert len(spans) == len(ids)
    assert_ascending(spans, len(raw))
    seen = covered(spans)
    for place, character in enumerate(raw):
        kept = normalise(character)
        if kept and kept != "\u2581":  # which SentencePiece takes for a space
            assert place in seen or not text.encode(kept)
    assert not any(raw[start].isspace() for start, end in spans if start < end)


@settings(deadline=None)
@given(MIXED)
def test_spans_of_any_translation(text: TextProcessor, raw: str) -> None:
    ids = [text.unk_id, 0, 1, *text.encode(raw), 0]
    decoded, spans = text.decode_spans(ids)
    assert decoded == text.decode(ids)
    assert len(spans) == len(ids)
    assert_ascending(spans, len(decoded))
    assert covered(spans) == {i for i, c in enumerate(decoded) if not c.isspace()}


def test_spans_refer_to_the_text_as_it_was_given(text: TextProcessor) -> None:
    raw = "\ufeff  Good \t morn\u00ading,\u200b \ufb01ne\n\U0001f600 "
    _, spans = text.encode_spans(raw)
    parts = [raw[span.start : span.end] for span in spans]
    assert "".join(parts) == "Goodmorn\u00ading,\ufb01ne\U0001f600"
    assert parts[-1] == ""


@given(MIXED)
def test_words_are_all_that_is_visible(raw: str) -> None:
    found = words(raw)
    assert_ascending(found, len(raw))
    assert all(span.start < span.end for span in found)
    seen = covered(found)
    assert {i for i, c in enumerate(raw) if c.isprintable() and not c.isspace()} <= seen
    assert not any(raw[place].isspace() for place in seen)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Don't worry.", ["Don't", "worry", "."]),
        ("At 12:30, 3.14 e-mails!?", ["At", "12:30", ",", "3.14", "e-mails", "!?"]),
        ("'tis the cats' (end)...", ["'", "tis", "the", "cats", "'", "(", "end", ")..."]),
        ("\u0939\u093f\u0928\u094d\u0926\u0940 x", ["\u0939\u093f\u0928\u094d\u0926\u0940", "x"]),
    ],
)
def test_words(raw: str, expected: list[str]) -> None:
    assert [raw[span.start : span.end] for span in words(raw)] == expected


def test_symbols_are_words_of_their_own() -> None:
    raw = "a\u27e60\u27e7\u27e61\u27e7.\u27e62"
    found = [raw[span.start : span.end] for span in words(raw)]
    assert found == ["a", "\u27e60\u27e7", "\u27e61\u27e7", ".\u27e6", "2"]
    assert [is_symbol(word) for word in found] == [False, True, True, False, False]


def test_a_piece_belongs_to_the_word_that_it_begins_in() -> None:
    found = [Span(0, 4), Span(5, 9)]
    pieces = [Span(0, 2), Span(2, 4), Span(4, 5), Span(5, 5), Span(5, 9), Span(9, 9)]
    assert word_of_each(pieces, found).tolist() == [0, 0, -1, 1, 1, -1]
    assert word_of_each(pieces, []).tolist() == [-1] * 6
