"""Texts through the models `preprocess` and `postprocess`, without Triton."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from serving.batch import Hypothesis
from serving.errors import (
    RequestError,
)
from serving.preparation import Preparation
from serving.triton.decoding import Decoding
from serving.triton.finding import Finding
from serving.triton.postprocess import Postprocessor
from serving.triton.preprocess import Preprocessor
from serving.triton.ragged import flatten, split
from tests.unit.fake_triton import Request, fake_triton
from tests.unit.made_up_documents import SHIPPED as CODEC

TRITON = fake_triton()


def texts(*values: bytes) -> Any:
    return np.array(values, dtype=np.object_)


def preprocessed(request: Request) -> dict[str, Any]:
    return dict(Preprocessor(TRITON, Preparation(CODEC, can_align=True))(request))


def test_preprocess_gives_sentences_and_documents() -> None:
    arrays = preprocessed(Request({"text": texts(b"One. Two!\n", b"", b"Three")}))
    rows = split(arrays["ids"], arrays["lengths"])
    assert [CODEC.decode(row) for row in rows] == ["One.", "Two!", "Three"]
    assert len(arrays["documents"]) == 3
    request = Request({"decoding": arrays["decoding"]})
    assert Decoding.of(TRITON, request) == Decoding()


def test_without_a_sentence_an_empty_one_stands_in() -> None:
    arrays = preprocessed(Request({"text": texts(b" \n", b"")}))
    assert (arrays["ids"].tolist(), arrays["lengths"].tolist()) == ([0], [0])


def test_a_prefix_is_of_the_first_sentence_of_each_text() -> None:
    request = Request({"text": texts(b"One. Two.", b"", b"Three.")}, {"prefix": "Ja,"})
    decoding = Decoding.of(TRITON, Request({"decoding": preprocessed(request)["decoding"]}))
    prefix = tuple(CODEC.encode("Ja,")[:-1])
    assert decoding.prefixes == {0: prefix, 2: prefix}


def test_postprocess_gives_texts_of_hypotheses_alone() -> None:
    ids, lengths = flatten([CODEC.encode("Grüße")[:-1], []])
    request = Request({"hypothesis_ids": ids, "hypothesis_lengths": lengths})
    arrays = Postprocessor(TRITON, CODEC)(request)
    assert arrays["translation"].tolist() == ["Grüße".encode(), b""]


def test_what_preprocess_gives_comes_back_through_postprocess() -> None:
    """An identity in place of the translator: the texts come back byte for byte."""
    sent = [b"One. Two!\r\n\r\n - Three\n", b" ", b""]
    arrays = preprocessed(Request({"text": texts(*sent)}, {"n_best": 2, "return": "timings"}))
    rows = split(arrays["ids"], arrays["lengths"])
    found = [[Hypothesis(tuple(row[:-1]), -1.0, False, (-0.1,) * len(row))] * 2 for row in rows]
    request = Request({**arrays, **Finding(found).arrays()})
    answer = Postprocessor(TRITON, CODEC)(request)
    assert answer["translation"].tolist() == [text for text in sent for _ in range(2)]
    assert answer["text_score"].tolist() == [-1.0, -1.0, 0.0, 0.0, 0.0, 0.0]
    details = [json.loads(text) for text in answer["details"]]
    assert all(set(one) == {"timings"} for one in details)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("documents", texts(b"{"), "the input 'documents' cannot be read"),
        ("wanted", texts(b"7"), "the input 'wanted' cannot be read"),
        ("score", np.zeros(3, dtype=np.float32), "a hypothesis lacks its score"),
        ("hypothesis_ids", np.array([70_000, 1], dtype=np.int32), "every id must be from 0"),
        ("token_score_lengths", np.array([9], dtype=np.int32), "do not belong together"),
    ],
)
def test_postprocess_refuses_what_does_not_belong_together(
    name: str, value: Any, message: str
) -> None:
    arrays = preprocessed(Request({"text": texts(b"Yes.")}))
    found = Finding([[Hypothesis((70, 1), -1.0, False, (-0.1, -0.1))]]).arrays()
    request = Request({**arrays, **found, name: value})
    with pytest.raises(RequestError, match=message):
        Postprocessor(TRITON, CODEC)(request)
