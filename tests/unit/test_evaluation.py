"""Scores of text that was split beforehand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.evaluation import score

words = st.text(alphabet="abcäß", min_size=1, max_size=8)
lines = st.lists(words, min_size=1, max_size=8)


@given(sentence=lines, cut=st.integers(1, 7))
def test_joining_restores_what_was_split(sentence: list[str], cut: int) -> None:
    split = " ".join(f"{w[:cut]}@@ {w[cut:]}" if len(w) > cut else w for w in sentence)
    found = score([split], [" ".join(sentence)], tokenize="none", remove_bpe=True)
    assert found.chrf == pytest.approx(100)


def test_a_joint_at_the_end_of_a_line_goes_too() -> None:
    assert score(["ein ha@@"], ["ein ha"], "none", remove_bpe=True).chrf == pytest.approx(100)


def test_the_tokenizer_is_in_the_signature() -> None:
    found = score(["a b c d e"], ["a b c d e"], "none")
    assert "tok:none" in found.bleu_signature
    assert found.bleu == pytest.approx(100)
    assert "tok:13a" in score(["a"], ["a"]).bleu_signature
