"""What the models of the repository do, without Triton: a stand-in has its few verbs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.batch import Hypothesis
from serving.errors import (
    ConfigError,
    DeadlineError,
    EngineError,
    OverloadError,
    RequestError,
)
from serving.options import DecodingOptions
from serving.preparation import Preparation
from serving.triton.aligning import Aligning
from serving.triton.answers import answer
from serving.triton.decoding import Decoding
from serving.triton.finding import Finding
from serving.triton.inputs import texts_of
from serving.triton.open_requests import OpenRequests
from serving.triton.outcome import Outcome
from serving.triton.preprocess import Preprocessor
from serving.triton.ragged import flatten, split
from serving.triton.settings import bundle_path, model_settings, positive_setting
from serving.triton.translate import Translator
from tests.unit.fake_triton import Request, fake_triton, sentences
from tests.unit.made_up_documents import SHIPPED as CODEC

TRITON = fake_triton()


class Backwards:
    """A scheduler whose answers are at hand: each sentence backwards, once."""

    def submit(
        self,
        sentences: Sequence[Sequence[int]],
        options: DecodingOptions,
        joined: Callable[[], object] | None = None,
        prefixes: Sequence[Sequence[int]] = (),
    ) -> Future[Any]:
        future: Future[Any] = Future()
        pairs = zip(sentences, prefixes, strict=True)
        found = [(*prefix, *ids[-2::-1]) for ids, prefix in pairs]
        future.set_result([[Hypothesis(ids, -1.0, False, (-0.5,) * len(ids))] for ids in found])
        return future


class Lengthwise:
    """An aligner whose numbers tell the sizes."""

    def align(self, sources: Sequence[Any], targets: Sequence[Any]) -> list[Any]:
        pairs = zip(sources, targets, strict=True)
        return [np.full((len(t), len(s)), len(s), dtype=np.float32) for s, t in pairs]


def translate(request: Request, scheduler: Any = None) -> list[Outcome]:
    """Have a request of ids answered, and tell how it ended."""
    ended: list[Outcome] = []
    translator = Translator(
        TRITON,
        scheduler or Backwards(),
        Aligning(lambda: Lengthwise()),  # type: ignore[arg-type, return-value]
        vocab_size=10,
        open_requests=OpenRequests(lambda _: None),
        ended=lambda _, outcome: ended.append(outcome),
        deadline=60,
    )
    translator.enqueue(request)
    return ended


def texts(*values: bytes) -> Any:
    return np.array(values, dtype=np.object_)


def test_a_bad_request_fails_alone() -> None:
    requests = [Request({"text": texts(t)}) for t in (b"ab", b"\xff", b"c")]
    preprocess = Preprocessor(TRITON, Preparation(CODEC, can_align=True))
    for request in requests:
        answer(TRITON, request, preprocess)
    good, bad, other = requests
    assert good.sent[0][0].error is None
    assert other.sent[0][0].error is None
    assert bad.error.code == "invalid"
    assert "text 1 of 1 is not valid UTF-8 at byte 0 (0xff)" in bad.error.message


def test_an_unforeseen_error_is_an_answer_too() -> None:
    def fail(request: Any) -> Any:
        raise KeyError("oops")

    request = Request({})
    answer(TRITON, request, fail)
    assert request.error.message == "internal error: KeyError: 'oops'"
    assert request.error.code == "internal"


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (texts(), "holds no text"),
        (texts(*[b"a"] * 1025), "1,025 texts; the limit is 1,024"),
        (texts(b"a", b"x" * (1 << 20)), "1,048,577 characters; the limit is 1,048,576"),
    ],
)
def test_limits_of_texts(array: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        texts_of(array)


def test_the_limit_counts_characters_not_bytes() -> None:
    assert texts_of(texts("ß".encode() * (1 << 20))) == ["ß" * (1 << 20)]


def test_translator_gives_n_best_entries_a_sentence() -> None:
    request = Request(
        {
            "ids": [7, 8, 1],
            "lengths": [3, 0],
            "decoding": Decoding(DecodingOptions(2, 0, 2)).array(),
        }
    )
    assert translate(request) == [Outcome.OK]
    ((answer, flags),) = request.sent
    assert flags == 1
    assert answer.error is None
    assert answer.arrays["hypothesis_lengths"].tolist() == [2, 2, 0, 0]
    assert answer.arrays["hypothesis_ids"].tolist() == [8, 7, 8, 7]
    assert answer.arrays["score"].dtype == np.float32
    finding = Finding.of(answer.arrays.__getitem__, 2)
    assert [[h.ids for h in found] for found in finding.hypotheses] == [[(8, 7)] * 2, [()] * 2]
    assert finding.hypotheses[0][0].token_scores == (-0.5, -0.5)
    assert finding.attention == []


def test_translator_gives_attention_and_takes_prefixes() -> None:
    decoding = Decoding(DecodingOptions(), {1: (5,)}, align=True)
    request = sentences([7, 8, 1], [9, 1])
    request.arrays["decoding"] = decoding.array()
    assert translate(request) == [Outcome.OK]
    finding = Finding.of(request.sent[0][0].arrays.__getitem__, 2)
    assert [found[0].ids for found in finding.hypotheses] == [(8, 7), (5, 9)]
    assert [matrix.tolist() for matrix in finding.attention] == [[[3] * 3] * 2, [[2] * 2] * 2]


@pytest.mark.parametrize(
    ("ids", "lengths", "message"),
    [
        ([7, 10, 1], [3], "every id must be from 0 to 9"),
        ([7, 8, 1], [4], "the lengths add up to 4, but there are 3 ids"),
        ([7, 8, 1], [3, -3], "a length is negative"),
        ([[7, 8, 1]], [3], "ids must be flat"),
        (np.zeros(1, dtype=np.int32), [], "holds no text"),
    ],
)
def test_translator_answers_wrong_ids_with_an_error(ids: Any, lengths: Any, message: str) -> None:
    request = Request({"ids": ids, "lengths": np.array(lengths, dtype=np.int32)})
    assert translate(request) == [Outcome.INVALID]
    assert message in request.error.message


@pytest.mark.parametrize(
    ("error", "outcome", "code", "message"),
    [
        (RuntimeError("gone"), Outcome.FAILED, "internal", "internal error: RuntimeError: gone"),
        (EngineError("stuck"), Outcome.FAILED, "unavailable", "stuck"),
        (OverloadError("overloaded"), Outcome.OVERLOADED, "unavailable", "overloaded"),
        (DeadlineError("late"), Outcome.DEADLINE, "cancelled", "late"),
        (RequestError("odd"), Outcome.INVALID, "invalid", "odd"),
        (None, Outcome.CANCELLED, "cancelled", "cancelled: the client has gone"),
    ],
)
def test_every_end_of_a_future_is_an_answer(
    error: Exception | None, outcome: Outcome, code: str, message: str
) -> None:
    future: Future[Any] = Future()
    future.set_exception(error) if error else future.cancel()
    request = sentences([7, 1])
    assert translate(request, SimpleNamespace(submit=lambda *_: future)) == [outcome]
    assert (request.error.code, request.error.message) == (code, message)


@given(st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=4), max_size=5))
def test_rows_survive_being_flat(rows: list[list[int]]) -> None:
    ids, lengths = flatten(rows)
    assert ids.size >= 1  # Triton takes no empty array
    assert split(ids, lengths) == rows


def test_the_bundle_is_found_beside_the_model() -> None:
    arguments = {
        "model_name": "preprocess_de",
        "model_repository": "/models/preprocess_de",
        "model_config": json.dumps(
            {"parameters": {"bundle": {"string_value": "../translator_de/1"}}}
        ),
    }
    settings = model_settings(arguments, known=("bundle",))
    assert str(bundle_path(arguments, settings)) == "/models/translator_de/1"
    with pytest.raises(
        ConfigError, match=r"unknown key 'bundle' in config\.pbtxt of preprocess_de"
    ):
        model_settings(arguments, known=("threads",))
    with pytest.raises(ConfigError, match=r"lacks the parameter 'bundle'"):
        bundle_path(arguments, {})


def test_numbers_among_the_settings_are_checked() -> None:
    assert positive_setting({"rows": "64"}, "rows", default=128) == 64
    assert positive_setting({}, "rows", default=128) == 128
    for wrong in ("0", "-1", "many", "1.5", ""):
        with pytest.raises(ConfigError, match="rows must be a positive number"):
            positive_setting({"rows": wrong}, "rows", default=128)
