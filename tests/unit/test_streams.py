"""Streams: every sentence once, the first alone, and an end whatever happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from serving.batch import Hypothesis
from serving.ping import PING_ID
from serving.preparation import Preparation
from serving.triton.finding import Finding
from serving.triton.ragged import split
from serving.triton.stream import WINDOW
from serving.triton.stream_service import StreamService
from tests.unit.fake_triton import Error, Request, fake_triton
from tests.unit.made_up_documents import SHIPPED as CODEC

MANY = "".join(f"This is number {n}.\n\n" for n in range(40))


class Stub:
    """A translator that copies, behind Triton's requests from model to model."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.at_once = self.most_at_once = 0
        self.on_ask: Callable[[str], Any] = lambda _: None
        self._lock = threading.Lock()

    def request(self, **keys: Any) -> Any:
        arrays = dict(keys["inputs"])
        assert keys["timeout"] > 0
        return SimpleNamespace(exec=lambda: self._answer(arrays))

    def _answer(self, arrays: Any) -> Any:
        ((*ids, _),) = split(arrays["ids"], arrays["lengths"])
        text = CODEC.decode(ids)
        with self._lock:
            self.asked.append(text)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        error = self.on_ask(text)
        with self._lock:
            self.at_once -= 1
        if error is not None:
            fault = SimpleNamespace(message=lambda: error.message, given=error)
            return SimpleNamespace(has_error=lambda: True, error=lambda: fault)
        found = Finding([[Hypothesis(tuple(ids), -1.0, False, ())]]).arrays()
        tensors = [_tensor(name, array) for name, array in found.items()]
        return SimpleNamespace(has_error=lambda: False, output_tensors=lambda: tensors)


def _tensor(name: str, array: Any) -> Any:
    return SimpleNamespace(name=lambda: name, as_numpy=lambda: array)


class Streaming:
    """A service, and what it has sent."""

    def __init__(self) -> None:
        self.stub = Stub()
        self.triton = fake_triton()
        self.triton.InferenceRequest = self.stub.request
        self.triton.PreferredMemory = lambda _: None
        self.triton.TRITONSERVER_MEMORY_CPU = 0
        self.service = StreamService(
            self.triton, Preparation(CODEC, can_align=False), "translator", "stream"
        )

    def run(self, text: str, **keys: Any) -> Request:
        array = np.array([text.encode()], dtype=np.object_)
        request = Request({"text": array}, many=True, **keys)
        self.service.enqueue(request)
        until = time.monotonic() + 20
        while not request.sent or request.sent[-1][1] != 1:
            assert time.monotonic() < until, request.sent
            time.sleep(0.005)
        return request

    @property
    def open(self) -> float:
        return float(self.triton.values['dragoman_open_requests{model="stream"}'])


@pytest.fixture
def streaming() -> Any:
    made = Streaming()
    yield made
    made.service.close()
    assert made.open == 0


def parts(request: Request) -> list[dict[str, Any]]:
    """The parts sent, in the order of the text."""
    *sent, (last, flags) = request.sent
    assert (last, flags) == (None, 1)
    assert all(flags == 0 for _, flags in sent)
    found = [{n: a[0] for n, a in response.arrays.items()} for response, _ in sent]
    return sorted(found, key=lambda part: part["index"])


def whole(found: list[dict[str, Any]]) -> str:
    return b"".join(p["before"] + p["translation"] + p["after"] for p in found).decode()


def test_the_parts_are_the_text(streaming: Streaming) -> None:
    found = parts(streaming.run(MANY))
    assert [part["index"] for part in found] == list(range(40))
    assert whole(found) == MANY
    for part in found:
        inside = MANY[part["source_start"] : part["source_end"]]
        assert inside.encode() == part["translation"]
        assert part["total"] == 40


def test_the_first_sentence_is_asked_for_alone(streaming: Streaming) -> None:
    beside: list[int] = []

    def look(_: str) -> None:
        time.sleep(0.01)
        beside.append(streaming.stub.at_once)

    streaming.stub.on_ask = look
    streaming.run(MANY)
    assert streaming.stub.asked[0] == "This is number 0."
    assert beside[0] == 1
    assert 1 < streaming.stub.most_at_once <= WINDOW


@pytest.mark.parametrize("text", ["", " \r\n\t", "…"])
def test_a_text_without_sentences_is_one_part(streaming: Streaming, text: str) -> None:
    found = parts(streaming.run(text))
    assert whole(found) == text
    assert len(found) == 1


def test_an_error_of_the_translator_ends_the_stream(streaming: Streaming) -> None:
    error = Error("overloaded: later", Error.UNAVAILABLE)
    streaming.stub.on_ask = lambda text: error if text == "This is number 5." else None
    request = streaming.run(MANY)
    (response, _), _ = request.sent[-2:]
    assert response.error.given is error
    assert len(streaming.stub.asked) < 40


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_best": 2}, "n_best must be 1"),
        ({"return": "scores"}, "return must be empty"),
        ({"temprature": 2}, "did you mean 'temperature'"),
    ],
)
def test_what_cannot_be_streamed_is_refused(
    streaming: Streaming, parameters: Any, message: str
) -> None:
    request = streaming.run("Yes.", parameters=parameters)
    (response, _), _ = request.sent
    assert message in response.error.message
    assert response.error.code == "invalid"


def test_a_client_that_has_gone_is_asked_for_no_more(streaming: Streaming) -> None:
    array = np.array([MANY.encode()], dtype=np.object_)
    request = Request({"text": array}, many=True)
    streaming.stub.on_ask = lambda _: setattr(request, "deserted", True)
    streaming.service.enqueue(request)
    until = time.monotonic() + 20
    while streaming.open or not request.sent:
        assert time.monotonic() < until
        time.sleep(0.005)
    assert len(streaming.stub.asked) <= 1 + WINDOW


def test_a_deadline_ends_the_stream(streaming: Streaming) -> None:
    streaming.stub.on_ask = lambda _: time.sleep(0.1)
    request = streaming.run(MANY, timeout=150_000)
    (response, _), _ = request.sent[-2:]
    assert response.error.message.startswith("deadline: ")


def test_the_launchers_question_is_answered_and_not_counted(streaming: Streaming) -> None:
    counts: list[float] = []
    sent = streaming.service._open.add
    streaming.service._open.add = lambda change: (sent(change), counts.append(streaming.open))[0]  # type: ignore[method-assign, func-returns-value]
    assert whole(parts(streaming.run("", name=PING_ID))) == ""
    assert set(counts) == {0.0}
