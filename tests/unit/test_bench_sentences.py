"""What `dragoman bench sentences` counts."""

from __future__ import annotations

import pytest

from bench.sentences import Case, cases, measure, splitters


def test_cases_are_texts_and_their_sentences() -> None:
    assert cases(["# remark", "", "One.¦ Two.⏎¦- three"]) == [
        Case("One. Two.\n- three", ["One.", "Two.", "three"])
    ]


def test_missed_cases_and_borders_are_counted() -> None:
    hard = cases(["One.¦ Two.", "One. Two."])
    paragraphs = [Case("A b. C d. E", ["A b.", "C d.", "E"])]
    outcome = measure("x", lambda text: text.split(". "), hard, paragraphs)
    assert outcome.missed == 2  # it takes the full stops away
    assert outcome.found == outcome.right == 0
    outcome = measure("y", lambda text: [text], hard, paragraphs)
    assert outcome.missed == 1
    assert outcome.found == pytest.approx(100 / 3)
    assert outcome.right == 100


def test_our_own_splitter_is_compared_with_the_library_it_corrects() -> None:
    assert {"sentencex", "dragoman"} <= {name for name, _ in splitters()}
