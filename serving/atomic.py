"""Files that appear whole or not at all, whenever the process is killed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A stream whose content stands at `path` once the block has ended without an error."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as stream:
        try:
            yield stream
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)


def copy_file(source: Path, path: Path) -> None:
    """Copy a file to `path`."""
    with source.open("rb") as content, replacing(path) as stream:
        shutil.copyfileobj(content, stream)


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write plain values in the order in which they come."""
    with replacing(path) as stream:
        stream.write((json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode())
