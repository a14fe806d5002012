"""Text survives the way to ids and back, whatever Unicode it holds."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.errors import ConfigError, DragomanError
from serving.lines import decode_lines, read_lines
from serving.text import TextProcessor, normalise

VOCABULARY = Path(__file__).parents[2] / "model_repository/translator/1/vocabulary.model"


@pytest.fixture(scope="module")
def text() -> TextProcessor:
    return TextProcessor.load(VOCABULARY)


@given(st.text())
def test_normalised_text_is_clean_and_stays(raw: str) -> None:
    found = normalise(raw)
    assert found == normalise(found)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in found)
    assert found == found.strip()
    assert "  " not in found


@settings(deadline=None)
@given(st.text())
def test_every_text_encodes_to_valid_ids(text: TextProcessor, raw: str) -> None:
    ids = text.encode(raw)
    assert all(0 <= i < text.vocab_size for i in ids)
    assert (not ids) or (ids[-1] == text.eos_id and text.eos_id not in ids[:-1])


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=("C", "Z", "M")), max_size=40))
def test_byte_fallback_loses_nothing(text: TextProcessor, raw: str) -> None:
    """Of words of letters, figures and signs in any script, NFKC is all that changes."""
    once = text.decode(text.encode(raw))
    assert text.decode(text.encode(once)) == once
    letters = unicodedata.normalize("NFKC", raw).replace("\u2581", " ").split()
    if "\u2581" not in raw:
        assert once.split() == letters


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\x00", "\ufeff", "\u3000", "\u200b"])
def test_blank_texts_have_no_ids(text: TextProcessor, blank: str) -> None:
    assert text.encode(blank) == []


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("a\x00b", "a b"),
        ("\ufeffHello\u00adworld", "Helloworld"),
        ("one\r\ntwo\t three\u2029four", "one two three four"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        ("\ud800x", "x"),
    ],
)
def test_what_normalising_keeps(raw: str, kept: str) -> None:
    assert normalise(raw) == kept


def test_reserved_symbols_are_never_cut(text: TextProcessor) -> None:
    assert list(text.symbols) == [f"⟦{i}⟧" for i in range(20)]
    assert list(text.symbol_ids) == list(range(4, 24))
    assert text.symbol_ids[7] in text.encode("a⟦7⟧b")


def test_pieces_that_spell_bytes_are_known(text: TextProcessor) -> None:
    assert len(text.spelling_ids) == 257
    assert text.spelling_ids.isdisjoint(text.encode("A house."))
    assert not text.spelling_ids.isdisjoint(text.encode("日"))


def test_decode_hides_special_ids(text: TextProcessor) -> None:
    ids = text.encode("Good morning.")
    assert text.decode([1, *ids, 0, 0]) == "Good morning."


def test_a_missing_or_damaged_vocabulary_is_named(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.model"
    damaged.write_bytes(b"no model")
    for path in (tmp_path / "missing.model", damaged):
        with pytest.raises(ConfigError, match=path.name):
            TextProcessor.load(path)


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))))
def test_lines_come_back(lines: list[str]) -> None:
    raw = [(line + "\n").encode() for line in lines]
    assert list(decode_lines(raw, "x")) == lines


def test_bad_lines_are_named(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"good\nb\xe4d\n")
    with pytest.raises(DragomanError, match="text.txt, line 2: not UTF-8"):
        read_lines(path)
    (tmp_path / "text.gz").write_bytes(b"not gzip")
    with pytest.raises(DragomanError, match="cannot read"):
        read_lines(tmp_path / "text.gz")
