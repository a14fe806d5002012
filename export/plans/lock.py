"""One compile at a time in a folder of plans."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path

LOCK = ".lock"


@contextlib.contextmanager
def sole_compile(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold a folder, after waiting for whoever holds it; the system releases it if we die."""
    with (folder / LOCK).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another dragoman compile in {folder}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
