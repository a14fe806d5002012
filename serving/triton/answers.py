"""Answers to requests: arrays or an error, at once or later, each request on its own."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from serving.triton.interface import Array, Request, Sender, Triton
from serving.triton.outcome import Outcome, foreseen_code, outcome_of

Result = TypeVar("Result")
Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Pending(Generic[Result]):
    """A result that is still to come, and how it becomes the arrays of an answer."""

    future: Future[Result]
    arrays: Callable[[Result], Arrays]


def answer(triton: Triton, request: Request, handle: Callable[[Request], Arrays]) -> None:
    """Answer a request; where `handle` raises, with an error."""
    sender = request.get_response_sender()
    _send(triton, sender, _made(triton, partial(handle, request))[0])


def answer_later(
    triton: Triton,
    sender: Sender,
    submit: Callable[[], Pending[Any]],
    answered: Callable[[Outcome], object],
) -> None:
    """Submit a request and send its answer when it is there.

    Errors of submitting, of the future and of making the arrays are sent as the answer. Nothing
    is raised: an error that left `execute` would fail the requests beside this one.

    Args:
        triton: the module `triton_python_backend_utils`.
        sender: takes the answer.
        submit: starts the work.
        answered: called when the answer was sent.
    """

    def finish(make: Callable[[], Arrays]) -> None:
        response, outcome = _made(triton, make)
        _send(triton, sender, response)
        answered(outcome)

    try:
        pending = submit()
    except Exception as error:
        finish(partial(_raise, error))
        return
    pending.future.add_done_callback(lambda done: finish(lambda: pending.arrays(done.result())))


def _made(triton: Triton, make: Callable[[], Arrays]) -> tuple[Any, Outcome]:
    try:
        tensors = [triton.Tensor(name, array) for name, array in make().items()]
        return triton.InferenceResponse(output_tensors=tensors), Outcome.OK
    except (Exception, CancelledError) as error:
        return failure(triton, error), outcome_of(error)


def _raise(error: Exception) -> Arrays:
    raise error


def _send(triton: Triton, sender: Sender, response: Any) -> None:
    try:
        sender.send(response, flags=triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    except Exception:
        # The client has gone, say; the thread that answers others must go on.
        triton.Logger.log_error(f"an answer was lost:\n{traceback.format_exc()}")


def failure(triton: Triton, error: BaseException) -> Any:
    """The response that tells a client of an error."""
    code = foreseen_code(error)
    if code is not None:
        message = str(error) or "cancelled: the client has gone"
        fault = triton.TritonError(message, getattr(triton.TritonError, code))
    else:
        details = "".join(traceback.format_exception(error))
        triton.Logger.log_error(f"a request failed:\n{details}")
        fault = triton.TritonError(f"internal error: {type(error).__name__}: {error}")
    return triton.InferenceResponse(output_tensors=[], error=fault)
