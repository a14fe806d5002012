"""A request's options and timeout, as inputs and parameters give them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from serving.errors import (
    RequestError,
)
from serving.request_options import Options
from serving.triton.options import options_of, seconds_of
from tests.unit.fake_triton import Request, fake_triton, sentences

TRITON = fake_triton()


def texts(*values: bytes) -> Any:
    return np.array(values, dtype=np.object_)


def test_options_come_from_inputs_and_parameters() -> None:
    request = Request(
        {"length_penalty": np.array([0.6], dtype=np.float32)},
        {"beam_size": 2, "sequence_id": 0, "triton_x": True, "priority": 1},
    )
    # FP32 has no 0.6; the search must see the same 0.6 as by default.
    assert options_of(TRITON, request) == Options(beam_size=2, length_penalty=0.6)


def test_lists_and_objects_come_as_json_or_alone() -> None:
    whole = {"protect": ["Tom", "/x+/"], "glossary": {"dog": "Hund"}, "return": ["scores"]}
    expected = Options(protect=["Tom", "/x+/"], glossary={"dog": "Hund"}, return_=["scores"])
    inputs = {"options": texts(json.dumps(whole).encode())}
    assert options_of(TRITON, Request(inputs)) == expected
    parameters = {"protect": '["Tom", "/x+/"]', "glossary": '{"dog": "Hund"}', "return": "scores"}
    assert options_of(TRITON, Request({}, parameters)) == expected


@pytest.mark.parametrize(
    ("inputs", "parameters", "message"),
    [
        ({}, {"beam": 2}, "unknown option 'beam'; did you mean 'beam_size'"),
        ({"options": texts(b"{")}, {}, "options must be an object in JSON"),
        ({"options": texts(b"[1]")}, {}, "options must be an object in JSON, not"),
        ({"options": texts(b"\xff")}, {}, "options must be an object in JSON"),
        ({"options": texts(b'{"top_k": 2}')}, {"top_k": 2}, "top_k is given twice"),
        ({"options": texts(b"{}", b"{}")}, {}, "options must be one text, not 2"),
        ({}, {"glossary": "dog"}, "glossary must be an object in JSON"),
        ({}, {"suppress": "[1"}, "suppress must be a list in JSON"),
        ({"n_best": [2]}, {"n_best": 2}, "n_best is given twice"),
        ({"n_best": [1, 2]}, {}, "n_best must be one value, not 2"),
        ({}, {"beam_size": "4"}, "beam_size must be an integer"),
    ],
)
def test_wrong_options(inputs: Any, parameters: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        options_of(TRITON, Request(inputs, parameters))


@pytest.mark.parametrize(
    ("timeout", "parameters", "seconds"),
    [(0, {}, None), (1_500_000, {}, 1.5), (0, {"timeout": 250_000}, 0.25)],
)
def test_a_client_may_give_a_timeout(timeout: int, parameters: Any, seconds: float | None) -> None:
    assert seconds_of(sentences([7, 1], parameters=parameters, timeout=timeout)) == seconds


@pytest.mark.parametrize("value", [0, -1, "1", 1.5, True])
def test_a_timeout_that_is_none_is_an_error(value: Any) -> None:
    request = sentences([7, 1], parameters={"timeout": value})
    with pytest.raises(RequestError, match="timeout must be a positive number of microseconds"):
        seconds_of(request)
