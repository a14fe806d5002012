"""Sentences end where a person would say so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.documents.sentences import sentence_ends
from serving.documents.splitting import sentences

LINES = (Path(__file__).parent / "sentence_cases.txt").read_text("utf-8").split("\n")
CASES = [line for line in LINES if line.strip() and not line.startswith("# ")]
MARKS = re.compile(r"^(?:[-•*]|[a-z\d]{1,2}[.)])\s", re.MULTILINE)


def parts(case: str) -> list[str]:
    """The sentences that a case asks for, without the marks of lists."""
    wanted = (part.strip() for part in case.replace("⏎", "\n").split("¦"))
    return [MARKS.sub("", part) for part in wanted if part]


@pytest.mark.parametrize("case", CASES)
def test_a_hard_case_is_split_as_a_person_would(case: str) -> None:
    text = case.replace("¦", "").replace("⏎", "\n")
    found = [text[start:end].strip() for start, end in sentences(text)]
    assert [MARKS.sub("", part) for part in found] == parts(case)


def test_there_are_many_hard_cases() -> None:
    assert len(set(CASES)) == len(CASES) >= 200


@given(st.text())
def test_ends_are_places_inside_in_order(line: str) -> None:
    ends = sentence_ends(line)
    assert ends == sorted(set(ends))
    assert all(0 < end < len(line) for end in ends)
    assert all(line[end - 1].strip() for end in ends)


def test_what_the_library_sees_at_once_is_bounded() -> None:
    """It takes quadratic time for some texts."""
    text = "A sentence is here, and another one follows it. " * 1000
    ends = sentence_ends(text.strip())
    assert len(ends) == 999
    assert {text[end - 4 : end] for end in ends} == {" it."}
    assert sentence_ends("word " * 20000) == []
