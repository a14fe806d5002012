"""A translator that asks a running server over gRPC."""

from __future__ import annotations

import collections
import time
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np
import tritonclient.grpc as grpc
from tritonclient.utils import InferenceServerException

from serving.errors import OVERLOADED, DragomanError
from serving.options import DecodingOptions
from serving.translator import OnDone, Translation

MODEL = "translate"
GROUP = 16
"""Texts of a request: small enough that a long file does not hold others up."""

IN_FLIGHT = 16
"""Requests that are out at one time."""

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 4.0

_OPTIONS = (
    ("beam_size", np.int32, "INT32"),
    ("length_penalty", np.float32, "FP32"),
    ("n_best", np.int32, "INT32"),
)


class TritonTranslator:
    """Sends texts in small requests, several in flight, and keeps their order."""

    def __init__(self, address: str, timeout: float = 300.0) -> None:
        """Connect lazily.

        Args:
            address: host:port of the gRPC endpoint.
            timeout: seconds that one request may take, and for which one that an overloaded
                server refuses is sent again.
        """
        self._address = address
        self._timeout = timeout
        self._client = grpc.InferenceServerClient(address)

    def translate(
        self,
        texts: Sequence[str],
        options: DecodingOptions,
        on_done: OnDone | None = None,
    ) -> list[list[Translation]]:
        """Translate each text; see `serving.translator.Translator`.

        Raises:
            DragomanError: the server cannot be reached or refuses a text; it says why.
        """
        pending: collections.deque[tuple[Sequence[str], Future[Any]]] = collections.deque()
        found: list[list[Translation]] = []
        for start in range(0, len(texts), GROUP):
            group = texts[start : start + GROUP]
            pending.append((group, self._send(group, options)))
            if len(pending) >= IN_FLIGHT:
                found += self._receive(*pending.popleft(), options, on_done)
        while pending:
            found += self._receive(*pending.popleft(), options, on_done)
        return found

    def _send(self, texts: Sequence[str], options: DecodingOptions) -> Future[Any]:
        values = np.array([text.encode("utf-8") for text in texts], dtype=np.object_)
        inputs = [_input(grpc, "text", values, "BYTES"), *option_inputs(grpc, options)]
        future: Future[Any] = Future()
        self._client.async_infer(
            MODEL, inputs, callback=partial(_resolve, future), client_timeout=self._timeout
        )
        return future

    def _receive(
        self,
        group: Sequence[str],
        pending: Future[Any],
        options: DecodingOptions,
        on_done: OnDone | None,
    ) -> list[list[Translation]]:
        result = self._patient_result(group, pending, options)
        texts = [value.decode("utf-8") for value in result.as_numpy("translation")]
        scores = result.as_numpy("score").tolist()
        if on_done:
            on_done(len(group))
        flat = [Translation(*pair) for pair in zip(texts, scores, strict=True)]
        width = options.n_best
        return [flat[i : i + width] for i in range(0, len(flat), width)]

    def _patient_result(
        self, group: Sequence[str], pending: Future[Any], options: DecodingOptions
    ) -> Any:
        """The answer; while the server has too much to do, the group is sent again and again."""
        until, pause = time.monotonic() + self._timeout, FIRST_PAUSE_SECONDS
        while True:
            try:
                return pending.result()
            except InferenceServerException as error:
                message = str(error.message())
                if OVERLOADED not in message or time.monotonic() + pause > until:
                    raise DragomanError(f"{self._address}: {message}") from error
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            pending = self._send(group, options)


def _resolve(future: Future[Any], result: Any, error: Exception | None) -> None:
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def option_inputs(triton: Any, options: DecodingOptions) -> list[Any]:
    """The options as inputs of a request; `triton` is one of the `tritonclient` modules."""
    return [
        _input(triton, name, np.array([getattr(options, name)], dtype=kind), type_name)
        for name, kind, type_name in _OPTIONS
    ]


def _input(triton: Any, name: str, values: np.ndarray[Any, Any], type_name: str) -> Any:
    tensor = triton.InferInput(name, list(values.shape), type_name)
    tensor.set_data_from_numpy(values)
    return tensor
