"""What can go wrong between client and server, each with an error of its own."""

from __future__ import annotations

from typing import Any

from grpc import StatusCode

from serving.errors import (
    DEADLINE,
    OVERLOADED,
    DeadlineError,
    DragomanError,
    OverloadError,
    RequestError,
)


class UnreachableError(DragomanError):
    """Nothing answers at the address, or the connection broke."""


class NotReadyError(DragomanError):
    """The server runs, but the model does not (yet, or no longer)."""


class ServerError(DragomanError):
    """The server failed at a request that has nothing wrong with it."""


class ClosedError(DragomanError):
    """The client was closed while the request was under way, or before."""


_NOT_READY = ("is not ready", "unknown model", "is not healthy", "no available versions")
_CONNECTION = ("failed to connect", "resolving", "ocket closed", "onnection", "GOAWAY", "pipe")
_SERVER_FAULT = "internal error"
_REQUEST_FAULTS = (
    StatusCode.INVALID_ARGUMENT,
    StatusCode.NOT_FOUND,
    StatusCode.OUT_OF_RANGE,
    StatusCode.RESOURCE_EXHAUSTED,  # a message too large
    StatusCode.UNIMPLEMENTED,
)


def error_of(address: str, code: StatusCode | None, message: str) -> DragomanError:
    """The error for a failed call.

    Args:
        address: of the server, which the message names.
        code: of gRPC; None where the server put the error into a stream's response.
        message: of the server or of gRPC.
    """
    text = f"{address}: {message}"
    if OVERLOADED in message:
        return OverloadError(text)
    if DEADLINE in message:
        return DeadlineError(text)
    if code is StatusCode.DEADLINE_EXCEEDED:
        return DeadlineError(f"{address}: no answer within the timeout of the request")
    if any(words in message for words in _NOT_READY):
        return NotReadyError(f"{text}; is it still loading?")
    if code is StatusCode.UNAVAILABLE and any(words in message for words in _CONNECTION):
        return UnreachableError(f"{text}; does a server run there? (dragoman serve starts one)")
    if code is StatusCode.UNAVAILABLE:
        return NotReadyError(text)
    if code is StatusCode.CANCELLED:
        return ClosedError(text)
    if code in _REQUEST_FAULTS or (code is None and _SERVER_FAULT not in message):
        return RequestError(text)
    return ServerError(text)


def error_of_call(address: str, call: Any) -> DragomanError:
    """The error for a `grpc.RpcError`."""
    return error_of(address, call.code(), str(call.details()))
