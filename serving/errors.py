"""Errors whose message is meant for the person who runs Dragoman."""

from __future__ import annotations

from collections.abc import Iterable


class DragomanError(Exception):
    """A problem that the user can mend; the message says what and how."""


class ConfigError(DragomanError):
    """A configuration holds an unknown key or an impossible value."""


OVERLOADED = "overloaded: "
"""Begins the message of an OverloadError. Clients go by it: over HTTP, Triton 2.51 gives every
error of `generate` the same status."""

DEADLINE = "deadline: "
"""Begins the message of a DeadlineError, for the same reason."""


class RequestError(DragomanError, ValueError):
    """A request cannot be translated as it stands; the message names the fault."""


class OverloadError(DragomanError):
    """More waits than can be done in reasonable time; the same request may succeed later."""


class DeadlineError(DragomanError):
    """A request was given up because its time was over."""


class EngineError(DragomanError):
    """The engine is stuck or dead: no request succeeds before it was started again."""


def check_known_keys(given: Iterable[object], known: Iterable[str], where: str) -> None:
    """Raise ConfigError naming the unknown keys and all known ones."""
    names = list(known)
    unknown = [repr(key) for key in given if key not in names]
    if unknown:
        raise ConfigError(
            f"unknown key {', '.join(unknown)} in {where}; known keys: {', '.join(sorted(names))}"
        )
