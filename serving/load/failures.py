"""Requests without a translation, by kind."""

from __future__ import annotations

import dataclasses
import enum

from tritonclient.utils import InferenceServerException

from serving.errors import OVERLOADED

MESSAGE_CHARACTERS = 300
"""What is kept of a message."""

_UNREACHED = (
    "failed to connect",
    "connection refused",
    "connection reset",
    "socket closed",
    "broken pipe",
    "errors resolving",
)
"""In the messages of a gRPC client that calls a server it cannot reach UNAVAILABLE, too."""

_OVERLOADED = (OVERLOADED, "exceeds maximum queue size")


class Kind(enum.StrEnum):
    """Why there is no translation."""

    OVERLOADED = "overloaded"
    """The server has too much to do, and says so."""

    DEADLINE = "deadline"
    """It took longer than the request may take."""

    INVALID = "invalid"
    """The server refuses the request as it stands."""

    CONNECTION = "connection"
    """The server is not reached, or hung up."""

    DIFFERENT = "different"
    """There is a translation, but another one than is expected."""

    OTHER = "other"


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """Why a request has no translation, in the words of the server or the client."""

    kind: Kind
    message: str


class DifferentTranslationError(Exception):
    """An answer is not the expected one."""


def failure_of(error: Exception) -> Failure:
    """Tell what kind of failure an exception of either client is."""
    message = " ".join(str(error).split()) or type(error).__name__
    return Failure(_kind(error, message.lower()), message[:MESSAGE_CHARACTERS])


def _kind(error: Exception, message: str) -> Kind:
    if isinstance(error, DifferentTranslationError):
        return Kind.DIFFERENT
    if isinstance(error, InferenceServerException):
        return _kind_of_status(str(error.status()), message)
    if isinstance(error, TimeoutError):
        return Kind.DEADLINE
    # aiohttp, which is under the HTTP client, knows many; each is about the connection.
    if isinstance(error, OSError) or type(error).__module__.startswith("aiohttp"):
        return Kind.CONNECTION
    return Kind.OTHER


def _kind_of_status(status: str, message: str) -> Kind:
    """Of gRPC's statuses and of HTTP's; over HTTP, Triton says 400 to much, and words tell."""
    if any(words in message for words in _OVERLOADED):
        return Kind.OVERLOADED
    if "deadline" in message or status in ("StatusCode.DEADLINE_EXCEEDED", "504"):
        return Kind.DEADLINE
    if status in ("StatusCode.UNAVAILABLE", "503"):
        unreached = any(words in message for words in _UNREACHED)
        return Kind.CONNECTION if unreached else Kind.OTHER
    if status in ("StatusCode.INVALID_ARGUMENT", "400") and "internal error" not in message:
        return Kind.INVALID
    return Kind.OTHER
