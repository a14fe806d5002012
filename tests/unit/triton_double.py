"""A gRPC server that speaks Triton's protocol as a script tells it: real calls, staged answers."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import numpy as np
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import deserialize_bytes_tensor, serialize_byte_tensor

Answer = Callable[["Asked", Any], Any]
"""Answers one request: takes what was asked and gRPC's context, gives a response."""


class Asked:
    """A request as a model would see it."""

    def __init__(self, request: Any) -> None:
        self.model = request.model_name
        self.inputs: dict[str, Any] = {}
        for tensor, raw in zip(request.inputs, request.raw_input_contents, strict=True):
            self.inputs[tensor.name] = _value(tensor, raw)
        self.parameters = {
            name: getattr(value, value.WhichOneof("parameter_choice"))
            for name, value in request.parameters.items()
        }
        self.texts: list[str] = self.inputs.pop("text")
        self.timeout = self.parameters.pop("timeout") / 1e6


def _value(tensor: Any, raw: bytes) -> Any:
    if tensor.datatype == "BYTES":
        return [text.decode() for text in deserialize_bytes_tensor(raw)]
    kind = {"INT32": np.int32, "FP32": np.float32}[tensor.datatype]
    return np.frombuffer(raw, dtype=kind).reshape(tuple(tensor.shape)).item()


def response(**arrays: Any) -> Any:
    """A `ModelInferResponse` of lists of texts, integers or floats."""
    made = service_pb2.ModelInferResponse()
    for name, values in arrays.items():
        if isinstance(values[0], str):
            array = np.array([value.encode() for value in values], dtype=np.object_)
            kind, raw = "BYTES", serialize_byte_tensor(array).item()
        else:
            is_float = isinstance(values[0], float)
            array = np.array(values, dtype=np.float32 if is_float else np.int32)
            kind, raw = "FP32" if is_float else "INT32", array.tobytes()
        made.outputs.add(name=name, datatype=kind, shape=array.shape)
        made.raw_output_contents.append(raw)
    return made


def upper_case(asked: Asked, context: Any) -> Any:
    """The server's normal work: texts in upper case, their lengths as scores, n_best of each."""
    width = asked.inputs.get("n_best", 1)
    pairs = [(text.upper() + "'" * n, -float(n)) for text in asked.texts for n in range(width)]
    texts, scores = zip(*pairs, strict=True)
    return response(translation=texts, score=scores)


def detailed(asked: Asked, context: Any) -> Any:
    """As `upper_case`, with details."""
    made = upper_case(asked, context)
    details = response(details=[json.dumps({"length": len(text)}) for text in asked.texts])
    made.MergeFrom(details)
    return made


def refuses(code: grpc.StatusCode, message: str) -> Answer:
    """An answer that is an error."""

    def refuse(asked: Asked, context: Any) -> Any:
        context.abort(code, message)

    return refuse


OVERLOADED = refuses(grpc.StatusCode.UNAVAILABLE, "in ensemble 'translate', overloaded: try again")


def part(text: str, index: int) -> Any:
    """The response of the streaming model for one word of a text."""
    words = text.split(" ")
    return response(
        translation=[words[index].upper()],
        index=[index],
        total=[len(words)],
        source_start=[index],
        source_end=[index + 1],
        before=[" " if index else ""],
        after=[""],
    )


class TritonDouble(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
    """Gives the answers of `script` one after the other, then goes on with `upper_case`."""

    def __init__(self) -> None:
        self.script: list[Answer] = []
        self.asked: list[Asked] = []
        self.ready = True
        self.cancelled = threading.Event()
        self.open = 0
        self._lock = threading.Lock()

    def ModelReady(self, request: Any, context: Any) -> Any:  # noqa: N802
        return service_pb2.ModelReadyResponse(ready=self.ready)

    def ModelInfer(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self._begun(request) as (asked, answer):
            return answer(asked, context)

    def ModelStreamInfer(self, requests: Any, context: Any) -> Any:  # noqa: N802
        context.add_callback(lambda: None if self.is_idle() else self.cancelled.set())
        with self._begun(next(requests)) as (asked, answer):
            if answer is not upper_case:
                yield from answer(asked, context)
                return
            (text,) = asked.texts
            for index in range(len(text.split(" "))):
                yield service_pb2.ModelStreamInferResponse(infer_response=part(text, index))
            yield last()

    @contextlib.contextmanager
    def _begun(self, request: Any) -> Iterator[tuple[Asked, Answer]]:
        with self._lock:
            self.open += 1
            self.asked.append(Asked(request))
            answer = self.script.pop(0) if self.script else upper_case
            asked = self.asked[-1]
        try:
            yield asked, answer
        finally:
            with self._lock:
                self.open -= 1

    def is_idle(self) -> bool:
        """Whether no request is under way."""
        return self.open == 0

    def waits(self, asked: Asked, context: Any) -> Any:
        """An answer that comes only when the client has given up."""
        while context.is_active():
            time.sleep(0.005)
        self.cancelled.set()
        return upper_case(asked, context)


def last() -> Any:
    """The empty response that ends a stream."""
    made = service_pb2.ModelStreamInferResponse()
    made.infer_response.parameters["triton_final_response"].bool_param = True
    return made


@contextlib.contextmanager
def serving(double: TritonDouble, address: str = "127.0.0.1:0") -> Iterator[str]:
    """Serve on a free port, or at an address; gives the address."""
    server = grpc.server(ThreadPoolExecutor(32))
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(double, server)
    port = server.add_insecure_port(address)
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()


def wait_for(condition: Callable[[], bool]) -> None:
    """Return once `condition` holds; fail the test when it does not within 5 s."""
    until = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def stream_of(*responses: Any) -> Callable[[Asked, Any], Iterator[Any]]:
    """An answer of the streaming model: responses, errors (texts) and steps of other answers."""

    def stream(asked: Asked, context: Any) -> Iterator[Any]:
        for given in responses:
            if callable(given):
                given(asked, context)
            elif isinstance(given, str):
                yield service_pb2.ModelStreamInferResponse(error_message=given)
            else:
                yield service_pb2.ModelStreamInferResponse(infer_response=given)

    return stream
