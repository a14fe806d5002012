"""How a request ended: the word for metrics and logs, and the code for its client."""

from __future__ import annotations

import enum
from concurrent.futures import CancelledError

from serving.errors import DeadlineError, EngineError, OverloadError, RequestError


class Outcome(enum.StrEnum):
    """Ends of a request."""

    OK = "ok"
    INVALID = "invalid"
    OVERLOADED = "overloaded"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"
    FAILED = "failed"


_OF_ERROR: dict[type[BaseException], tuple[Outcome, str]] = {
    RequestError: (Outcome.INVALID, "INVALID_ARG"),
    OverloadError: (Outcome.OVERLOADED, "UNAVAILABLE"),
    # Triton has no code for a deadline; UNAVAILABLE would have clients try again.
    DeadlineError: (Outcome.DEADLINE, "CANCELLED"),
    CancelledError: (Outcome.CANCELLED, "CANCELLED"),
    EngineError: (Outcome.FAILED, "UNAVAILABLE"),
}


def outcome_of(error: BaseException | None) -> Outcome:
    """The end that an error is; OK where there is none."""
    if error is None:
        return Outcome.OK
    return next(
        (o for kind, (o, _) in _OF_ERROR.items() if isinstance(error, kind)), Outcome.FAILED
    )


def foreseen_code(error: BaseException) -> str | None:
    """Name of Triton's code for an error whose message is meant for the client, else None."""
    return next((code for kind, (_, code) in _OF_ERROR.items() if isinstance(error, kind)), None)
