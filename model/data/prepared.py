"""A folder that `dragoman prepare` wrote: pairs as mapped token arrays, and their vocabulary."""

from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

from model.data.prepare.checksums import sha256_of_all
from model.data.tokens import TokenArray
from serving.errors import DragomanError
from serving.text import VOCABULARY

MANIFEST = "manifest.json"
"""Written last: a folder without it is not finished."""

REPORT = "report.json"
"""Which pairs cleaning removed."""

FILES = (
    *("source.ids", "source.offsets", "target.ids", "target.offsets"),
    *(VOCABULARY, REPORT),
)
"""What a prepared folder holds beside its manifest."""


@dataclasses.dataclass(frozen=True)
class FileSeal:
    """Size and SHA-256 of a file, by which damage is noticed."""

    bytes: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Manifest:
    """What a prepared folder holds and where that came from.

    Attributes:
        pairs: number of pairs.
        source_tokens: of all pairs, EOS counted.
        target_tokens: of all pairs, EOS counted.
        vocabulary_size: pieces, V.
        dtype: NumPy's name of the ids' type.
        files: seal of each file.
        plan: options and checksums of the inputs.
    """

    pairs: int
    source_tokens: int
    target_tokens: int
    vocabulary_size: int
    dtype: str
    files: dict[str, FileSeal]
    plan: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read what `dataclasses.asdict` gave.

        Raises:
            DragomanError: the file cannot be read, or holds something else.
        """
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            files = {name: FileSeal(**values["files"][name]) for name in FILES}
            return cls(**{**values, "files": files})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DragomanError(f"{path} is no manifest of prepared data: {error!r}") from error


class PreparedFolder:
    """Tokenised pairs on disk. The sizes of all files have been checked."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest
        self.vocabulary = path / VOCABULARY

    @classmethod
    def open(cls, path: Path) -> PreparedFolder:
        """Open a finished folder.

        Raises:
            DragomanError: it is not finished, or a file is missing or has another size.
        """
        if not (path / MANIFEST).is_file():
            raise DragomanError(
                f"{path} holds no prepared pairs: `dragoman prepare` makes such a folder, and "
                "the same command again goes on with an interrupted one"
            )
        manifest = Manifest.read(path / MANIFEST)
        for name, seal in manifest.files.items():
            file = path / name
            size = file.stat().st_size if file.is_file() else 0
            if size != seal.bytes:
                raise _damage(file, f"it holds {size} bytes instead of {seal.bytes}")
        return cls(path, manifest)

    def verify(self) -> None:
        """Compare the checksums of all files.

        Raises:
            DragomanError: names the first file that has changed.
        """
        digests = sha256_of_all([self.path / name for name in self.manifest.files])
        for (name, seal), digest in zip(self.manifest.files.items(), digests.values(), strict=True):
            if digest != seal.sha256:
                raise _damage(self.path / name, "its checksum has changed")

    @functools.cached_property
    def source(self) -> TokenArray:
        """Source side, every sequence closed by EOS."""
        return self._side("source")

    @functools.cached_property
    def target(self) -> TokenArray:
        """Target side, every sequence closed by EOS."""
        return self._side("target")

    def _side(self, side: str) -> TokenArray:
        ids, offsets = self.path / f"{side}.ids", self.path / f"{side}.offsets"
        return TokenArray.map(ids, offsets, self.manifest.dtype)


def _damage(path: Path, what: str) -> DragomanError:
    return DragomanError(f"{path} is damaged: {what}; remove the folder and prepare it again")
