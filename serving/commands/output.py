"""Where a command writes."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from serving.atomic import replacing
from serving.errors import DragomanError


@contextlib.contextmanager
def writing(path: Path | None) -> Iterator[IO[bytes]]:
    """A stream to a file that appears whole, when the block has ended without an error.

    A link is followed; what is no file (/dev/null, a pipe) is written to as it is.

    Args:
        path: of the file, None for standard output.

    Raises:
        DragomanError: the file cannot be written.
    """
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with contextlib.ExitStack() as stack:
        try:
            target = path.resolve()
            is_file = target.is_file() or not target.exists()
            opened = replacing(target) if is_file else target.open("wb")
            stream = stack.enter_context(opened)
        except OSError as error:
            raise DragomanError(f"cannot write {path}: {error}") from error
        yield stream
