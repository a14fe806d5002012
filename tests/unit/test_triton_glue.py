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
from serving.triton.answers import answer_each
from serving.triton.inputs import texts_of
from serving.triton.open_requests import OpenRequests
from serving.triton.options import option_arrays, options_of, seconds_of
from serving.triton.outcome import Outcome
from serving.triton.postprocess import Postprocessor
from serving.triton.preprocess import Preprocessor
from serving.triton.ragged import flatten, split
from serving.triton.settings import bundle_path, model_settings, positive_setting
from serving.triton.translate import Translator
from tests.unit.fake_triton import Request, fake_triton, sentences

TRITON = fake_triton()


class Letters:
    """A codec of one id a letter; id 1 closes a text."""

    def encode(self, text: str) -> list[int]:
        return [*(ord(c) - 90 for c in text), 1] if text else []

    def decode(self, ids: Any) -> str:
        return "".join(chr(i + 90) for i in ids if i > 1)


class Backwards:
    """A scheduler whose answers are at hand: each sentence backwards, once."""

    def submit(
        self,
        sentences: Sequence[Sequence[int]],
        options: DecodingOptions,
        joined: Callable[[], object] | None = None,
    ) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result([[Hypothesis((*s[-2::-1],), -1.0, False)] for s in sentences])
        return future


def translate(request: Request, scheduler: Any = None) -> list[Outcome]:
    """Have a request of ids answered, and tell how it ended."""
    ended: list[Outcome] = []
    translator = Translator(
        TRITON,
        scheduler or Backwards(),
        vocab_size=10,
        open_requests=OpenRequests(lambda _: None),
        ended=lambda _, outcome: ended.append(outcome),
        deadline=60,
    )
    translator.enqueue(request)
    return ended


def texts(*values: bytes) -> Any:
    return np.array(values, dtype=np.object_)


def test_preprocess_flattens_and_fills_in_the_options() -> None:
    arrays = Preprocessor(TRITON, Letters())(Request({"text": texts(b"ab", b"", b"c")}))
    assert arrays["ids"].tolist() == [7, 8, 1, 9, 1]
    assert arrays["lengths"].tolist() == [3, 0, 2]
    assert arrays["beam_size"].tolist() == [DecodingOptions().beam_size]


def test_a_bad_request_fails_alone() -> None:
    requests: Any = [Request({"text": texts(t)}) for t in (b"ab", b"\xff", b"c")]
    good, bad, other = answer_each(TRITON, requests, Preprocessor(TRITON, Letters()))
    assert good.error is None
    assert other.error is None
    assert bad.error.code == "invalid"
    assert "text 1 of 1 is not valid UTF-8 at byte 0 (0xff)" in bad.error.message


def test_an_unforeseen_error_is_an_answer_too() -> None:
    def fail(request: Any) -> Any:
        raise KeyError("oops")

    requests: Any = [Request({})]
    (answer,) = answer_each(TRITON, requests, fail)
    assert answer.error.message == "internal error: KeyError: 'oops'"
    assert answer.error.code == "internal"


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (texts(), "holds no text"),
        (texts(*[b"a"] * 1025), "1,025 texts; the limit is 1,024"),
        (texts(b"a", b"x" * 20_001), "text 2 of 2 has 20,001 characters; the limit is 20,000"),
    ],
)
def test_limits_of_texts(array: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        texts_of(array)


def test_the_limit_counts_characters_not_bytes() -> None:
    assert texts_of(texts("ß".encode() * 20_000)) == ["ß" * 20_000]


def test_options_come_from_inputs_and_parameters() -> None:
    request = Request(
        {"length_penalty": np.array([0.6], dtype=np.float32)},
        {"beam_size": 2, "sequence_id": 0, "triton_x": True, "priority": 1},
    )
    # FP32 has no 0.6; the search must see the same 0.6 as by default.
    assert options_of(TRITON, request) == DecodingOptions(beam_size=2, length_penalty=0.6)


@pytest.mark.parametrize(
    ("inputs", "parameters", "message"),
    [
        ({}, {"beam": 2}, "unknown option 'beam'; known options: beam_size"),
        ({"n_best": [2]}, {"n_best": 2}, "n_best is given twice"),
        ({"n_best": [1, 2]}, {}, "n_best must be one value, not 2"),
        ({}, {"beam_size": "4"}, "beam_size must be an integer"),
    ],
)
def test_wrong_options(inputs: Any, parameters: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        options_of(TRITON, Request(inputs, parameters))


def test_translator_gives_n_best_entries_a_sentence() -> None:
    request = Request(
        {
            "ids": [7, 8, 1],
            "lengths": [3, 0],
            **option_arrays(DecodingOptions(2, 0, 2)),
        }
    )
    assert translate(request) == [Outcome.OK]
    ((answer, flags),) = request.sent
    assert flags == 1
    assert answer.error is None
    assert answer.arrays["hypothesis_lengths"].tolist() == [2, 2, 0, 0]
    assert answer.arrays["hypothesis_ids"].tolist() == [8, 7, 8, 7]
    assert answer.arrays["score"].dtype == np.float32


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


@pytest.mark.parametrize(
    ("timeout", "parameters", "seconds"),
    [(0, {}, None), (1_500_000, {}, 1.5), (0, {"timeout": 250_000}, 0.25)],
)
def test_a_client_may_give_a_timeout(timeout: int, parameters: Any, seconds: float | None) -> None:
    assert seconds_of(sentences([7, 1], parameters=parameters, timeout=timeout)) == seconds


@pytest.mark.parametrize("value", [0, -1, "1", 1.5, True])
def test_a_timeout_that_is_none_is_an_error(value: Any) -> None:
    request = sentences([7, 1], parameters={"timeout": value})
    assert translate(request) == [Outcome.INVALID]
    assert "timeout must be a positive number of microseconds" in request.error.message


def test_postprocess_gives_utf8() -> None:
    request = Request({"hypothesis_ids": [7, 133], "hypothesis_lengths": [2, 0]})
    arrays = Postprocessor(TRITON, Letters(), vocab_size=200)(request)
    assert arrays["translation"].tolist() == ["aß".encode(), b""]


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
