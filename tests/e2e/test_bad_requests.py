"""Bad requests: each fails alone, with a message that a person understands."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

from tests.e2e.launched import LaunchedServer
from tests.e2e.nvidia_client import GRPC, HTTP, infer, option, texts

GOOD = "Where is the station?"


@pytest.fixture(autouse=True)
def a_good_client(server: LaunchedServer) -> Iterator[None]:
    """Ask good questions all the while; no answer may suffer, and the server stays ready."""
    expected = server.translate(GOOD)
    answers: list[Any] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            answers.append(server.generate(text=GOOD))

    client = threading.Thread(target=ask)
    client.start()
    yield
    done.set()
    client.join()
    assert answers
    assert all((status, a["translation"]) == (200, expected) for status, a in answers)
    assert server.is_ready()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"text": []}, "the request holds no text"),
        ({"text": "x" * 1_100_000}, "1,100,000 characters; the limit is 1,048,576"),
        ({"text": ["a", "x" * (1 << 20)]}, "1,048,577 characters; the limit is 1,048,576"),
        ({"text": ["a"] * 1025}, "1,025 texts; the limit is 1,024"),
        ({"text": "a", "beam_size": 0}, "beam_size must be from 1 to"),
        ({"text": "a", "beam_size": 1000}, "beam_size must be from 1 to"),
        ({"text": "a", "beam_size": -1}, "beam_size must be from 1 to"),
        ({"text": "a", "n_best": 0}, "n_best must be from 1 to"),
        ({"text": "a", "n_best": 3, "beam_size": 2}, "n_best must be from 1 to beam_size (2)"),
        ({"text": "a", "length_penalty": -1.0}, "length_penalty must be from 0 to"),
        ({"text": "a", "beamsize": 2}, "unknown option 'beamsize'; did you mean 'beam_size'"),
        ({"text": "a", "colour": 2}, "unknown option 'colour'; known options: beam_size"),
        ({"text": "a", "min_length": 9, "max_length": 5}, "min_length must be at most max_length"),
        ({"text": "a", "repetition_penalty": 0.5}, "repetition_penalty must be from 1 to 10"),
        ({"text": "a", "no_repeat_ngram_size": 101}, "no_repeat_ngram_size must be from 0 to 100"),
        ({"text": "a", "suppress": "[1]"}, "an entry of suppress must be a text"),
        ({"text": "a", "prefix": 3}, "prefix must be a text"),
        ({"text": "a", "temperature": -1}, "temperature must be from 0 to 10"),
        ({"text": "a", "top_k": 17}, "top_k must be from 1 to 16"),
        ({"text": "a", "top_p": 0}, "top_p must be above 0 up to 1"),
        ({"text": "a", "seed": -1}, "seed must be from 0 to 9223372036854775807"),
        ({"text": "a", "format": "xml"}, "format must be one of text, html"),
        ({"text": "a", "glossary": '{"dog": ""}'}, "glossary takes terms of 1 to 200"),
        ({"text": "a", "protect": "/(/"}, "is no regular expression"),
        ({"text": "a", "return": "sores"}, "an entry of return must be one of scores"),
        ({"text": "a", "beam_size": [1, 2]}, "beam_size"),
        ({}, "missing required input(s) ['text']"),
    ],
)
def test_the_message_names_the_fault(
    server: LaunchedServer, keys: dict[str, Any], message: str
) -> None:
    status, answer = server.generate(**keys)
    assert status == 400
    assert message in answer["error"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"text":',
        b'{"text": 5}',
        b'{"text": null}',
        b'{"text": "a", "beam_size": "many"}',
        b'{"text": "a", "beam_size": 2.5}',
        b'{"text": "\\ud800"}',
    ],
)
def test_what_triton_itself_refuses_is_an_error_too(server: LaunchedServer, body: bytes) -> None:
    status, answer = server.post(body)
    assert status in (400, 500)
    assert answer["error"]


def test_invalid_utf8_names_the_byte(server: LaunchedServer) -> None:
    status, answer = server.post(b'{"text": ["good", "Gr\xfc\xdfe"]}')
    assert status == 400
    assert "text 2 of 2 is not valid UTF-8 at byte 2 (0xfc)" in answer["error"]


@pytest.mark.parametrize("way", [HTTP, GRPC])
@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([b"\xff\xfe"], dtype=np.object_), "not valid UTF-8 at byte 0"),
        (np.array([1, 2], dtype=np.int32), "data-type"),
        (np.array([[b"a"], [b"b"]], dtype=np.object_), "shape"),
        (np.array([], dtype=np.object_), "no text"),
    ],
)
def test_wrong_tensors_are_refused(
    server: LaunchedServer, way: str, array: Any, message: str
) -> None:
    with pytest.raises(InferenceServerException, match=message):
        infer(server, way, {"text": array})


@pytest.mark.parametrize("way", [HTTP, GRPC])
def test_an_option_given_twice_is_refused(server: LaunchedServer, way: str) -> None:
    arrays = {"text": texts("a"), "n_best": option("n_best", 2)}
    with pytest.raises(InferenceServerException, match="n_best is given twice"):
        infer(server, way, arrays, {"n_best": 2})


def test_errors_have_the_code_of_an_invalid_argument(server: LaunchedServer) -> None:
    with pytest.raises(InferenceServerException) as caught:
        infer(server, GRPC, {"text": texts("a")}, {"foo": 1})
    assert "INVALID_ARGUMENT" in str(caught.value.status())
