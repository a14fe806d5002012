"""The shipped graphs on 500 real sentences: equal to PyTorch, and the same in every company."""

from __future__ import annotations

import pytest

from export.proof import prove
from serving.bundle import Bundle
from serving.options import DecodingOptions
from serving.search import search
from tests.parity.shipped import BUNDLE, torch_engine


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return Bundle.open(BUNDLE)


@pytest.fixture(scope="module")
def encoded(bundle: Bundle, sentences: list[str]) -> list[list[int]]:
    return [bundle.text_processor().encode(sentence) for sentence in sentences]


def test_equals_pytorch(bundle: Bundle, encoded: list[list[int]]) -> None:
    proof = prove(torch_engine(bundle), bundle.engine(), encoded, beams=(1, 4))
    assert proof.sentences == 500
    assert proof.largest_difference < 1e-4


def test_alone_and_in_any_batch(bundle: Bundle, encoded: list[list[int]]) -> None:
    engine, options = bundle.engine(), DecodingOptions()
    alone = [search(engine, [ids], options)[0] for ids in encoded]
    for rows in (12, 64, 256):
        together = search(engine, encoded, options, rows=rows)
        for one, other in zip(alone, together, strict=True):
            assert [h.ids for h in one] == [h.ids for h in other]
            assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=2e-5)
