"""Answers to requests: arrays or an error, at once or later, each request on its own."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from serving.errors import RequestError
from serving.triton.interface import Array, Request, Requests, ResponseSender, Triton

Result = TypeVar("Result")
Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Pending(Generic[Result]):
    """A result that is still to come, and how it becomes the arrays of an answer."""

    future: Future[Result]
    arrays: Callable[[Result], Arrays]


def answer_each(
    triton: Triton, requests: Requests, handle: Callable[[Request], Arrays]
) -> list[Any]:
    """Return one response for each request; where `handle` raises, that one is an error."""
    return [_answer(triton, partial(handle, request)) for request in requests]


def answer_later(
    triton: Triton, request: Request, submit: Callable[[Request], Pending[Any]]
) -> None:
    """Submit a request and send its answer when it is there.

    Errors of submitting, of the future and of making the arrays are sent as the answer. Nothing
    is raised: an error that left `execute` would fail the requests beside this one.
    """
    sender = request.get_response_sender()
    try:
        pending = submit(request)
    except Exception as error:
        _send(triton, sender, _failure(triton, error))
        return
    pending.future.add_done_callback(
        lambda done: _send(triton, sender, _answer(triton, lambda: pending.arrays(done.result())))
    )


def _answer(triton: Triton, make: Callable[[], Arrays]) -> Any:
    try:
        tensors = [triton.Tensor(name, array) for name, array in make().items()]
        return triton.InferenceResponse(output_tensors=tensors)
    # CancelledError, which a closing scheduler may leave in a future, is no Exception.
    except BaseException as error:
        return _failure(triton, error)


def _send(triton: Triton, sender: ResponseSender, response: Any) -> None:
    try:
        sender.send(response, flags=triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    except Exception:
        # The client has gone, say; the thread that answers others must go on.
        triton.Logger.log_error(f"an answer was lost:\n{traceback.format_exc()}")


def _failure(triton: Triton, error: BaseException) -> Any:
    if isinstance(error, RequestError):
        fault = triton.TritonError(str(error), triton.TritonError.INVALID_ARG)
    else:
        details = "".join(traceback.format_exception(error))
        triton.Logger.log_error(f"a request failed:\n{details}")
        fault = triton.TritonError(f"internal error: {type(error).__name__}: {error}")
    return triton.InferenceResponse(output_tensors=[], error=fault)
