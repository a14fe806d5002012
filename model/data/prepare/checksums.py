"""SHA-256 of files."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import tqdm

from serving.errors import DragomanError

_BLOCK = 1 << 20


def sha256_of_all(paths: Sequence[Path]) -> dict[str, str]:
    """Hexadecimal SHA-256 of each file, by its path.

    Raises:
        DragomanError: a file cannot be read.
    """
    try:
        total = sum(path.stat().st_size for path in paths)
        bar: tqdm.tqdm[NoReturn]
        with tqdm.tqdm(
            desc="checksums", total=total, unit="B", unit_scale=True, disable=None, file=sys.stderr
        ) as bar:
            return {str(path): _sha256(path, bar) for path in paths}
    except OSError as error:
        raise DragomanError(f"cannot read {error.filename}: {error}") from error


def _sha256(path: Path, bar: tqdm.tqdm[NoReturn]) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
            bar.update(len(block))
    return digest.hexdigest()
