"""What is the same for the calls of both clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tritonclient.grpc import service_pb2

from serving.client.errors import NotReadyError
from serving.errors import RequestError
from serving.request_options import Options, check_text

DEFAULT_ADDRESS = "localhost:8001"
DEFAULT_TIMEOUT = 60.0
DEFAULT_PATIENCE = 10.0
CHECK_SECONDS = 5.0

GROUP = 16
"""Texts of a request: small enough that a long file does not hold others up."""

IN_FLIGHT = 16
"""Requests that are out at one time."""

CHANNEL_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # A server that comes back is found at the next attempt; gRPC's own pauses grow to minutes.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 1000),
]


def groups_of(texts: Sequence[str]) -> list[Sequence[str]]:
    """The texts of each request.

    Raises:
        RequestError: something is no text.
    """
    if isinstance(texts, str):
        raise RequestError("translate_many takes a list of texts; translate takes one text")
    for number, text in enumerate(texts):
        check_text(f"text {number}", text)
    return [texts[start : start + GROUP] for start in range(0, len(texts), GROUP)]


def options_of(given: Options | None, values: dict[str, Any]) -> Options:
    """The options of a call: an object, or keyword arguments.

    Raises:
        RequestError: both are given, or an option is wrong.
    """
    if given is None:
        return Options.of(values)
    if values:
        raise RequestError(f"options is given beside {', '.join(values)}; give one or the other")
    return given


def ready_request(model: str) -> Any:
    """Asks whether a model is ready."""
    return service_pb2.ModelReadyRequest(name=model)


def check_ready(address: str, model: str, response: Any) -> None:
    """Raise NotReadyError unless the answer to `ready_request` is yes."""
    if not response.ready:
        raise NotReadyError(f"{address}: the model {model!r} is not ready; is it still loading?")
