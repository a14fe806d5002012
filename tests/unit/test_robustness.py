"""What is planted into a test set is there, and can be taken out again."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from bench.robustness.planting import (
    PLACEHOLDERS,
    figures,
    with_numbers,
    with_placeholders,
    with_tags,
    without_placeholders,
)
from bench.robustness.report import Clean, row_of, to_markdown
from bench.robustness.variants import is_balanced, variants

SENTENCES = st.lists(
    st.sampled_from(["Tom", "Boston", "ran", "to", "1995", "3.5", "1,000", "café"]),
    min_size=1,
    max_size=8,
).map(" ".join)


@given(SENTENCES, st.integers(0, 1000))
def test_placeholders_can_be_taken_out_again(text: str, seed: int) -> None:
    planted = with_placeholders(text, text, random.Random(seed))
    assert planted.kept
    assert all(name in PLACEHOLDERS and planted.text.count(name) == 1 for name in planted.kept)
    assert without_placeholders(planted.text, planted) == text


@given(st.integers(0, 1000))
def test_a_sentence_may_have_more_names_than_there_are_placeholders(seed: int) -> None:
    text = " ".join(f"Name{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
    planted = with_placeholders(text, text, random.Random(seed))
    assert without_placeholders(planted.text, planted) == text


@given(SENTENCES, st.integers(0, 1000))
def test_tags_are_balanced_and_around_the_same_words(text: str, seed: int) -> None:
    tagged = with_tags(text, random.Random(seed))
    assert tagged != text
    assert is_balanced(tagged)
    assert re.sub("<[^>]*>", "", tagged) == text


def test_numbers_become_others_on_both_sides() -> None:
    pair = ("In 1995, 12 of 3,500 paid 7 for A4.", "1995 zahlten zwölf von 3.500 7 für A4.")
    changed = with_numbers(*pair, random.Random(1))
    assert changed
    source, reference = changed
    assert re.sub(r"\d", "0", source) == re.sub(r"\d", "0", pair[0])
    year, twelve, many, seven = figures(source)
    assert figures(reference) == [year, many, seven]
    assert (year, many) != ("1995", "3500")
    assert twelve == "12"
    assert with_numbers("no number", "keine 5", random.Random(1)) is None


def test_a_variant_is_compared_with_the_same_sentences() -> None:
    sources = ["It was 1995.", "Tom ran."]
    all_variants = {v.name: v for v in variants(sources, ["Es war 1995.", "Tom lief."], seed=1)}
    numbers = all_variants["other numbers"]
    assert numbers.lines == [0]
    clean = Clean(all_variants["clean"], ["Es war 1995.", "ganz falsch"])
    row = row_of(numbers, ["Es war 1."], clean)
    assert row.clean.bleu > 99
    assert row.sentences == 1
    assert row.kept == {"kept": 0.0}
    assert "| other numbers | 1 |" in to_markdown([row])
