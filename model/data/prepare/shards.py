"""The work of an unfinished preparation, in shards that are each there whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.data.prepare.cleaning import Pair
from model.data.prepare.duplicates import Digests
from model.data.prepare.report import Report
from serving.atomic import replacing, write_json


class Shards:
    """Shard k holds what is kept of the k-th run of `size` input pairs.

    Attributes:
        size: input pairs of every shard but the last.
        count: number of shards.
    """

    def __init__(self, folder: Path, total: int, size: int) -> None:
        self._folder = folder
        self.size = size
        self.count = -(-total // size)

    def _path(self, shard: int, what: str) -> Path:
        return self._folder / f"{shard:06d}.{what}"

    @property
    def cleaned(self) -> int:
        """Shards that are cleaned; they are the first ones."""
        return next(
            (k for k in range(self.count) if not self._path(k, "report").exists()), self.count
        )

    def write_pairs(
        self, shard: int, pairs: Iterable[Pair], digests: Digests, report: Report
    ) -> None:
        """Write what cleaning kept, the digests of those pairs, and what it removed."""
        with replacing(self._path(shard, "pairs")) as stream:
            stream.write("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs).encode())
        with replacing(self._path(shard, "digests")) as stream:
            stream.write(digests.tobytes())
        write_json(self._path(shard, "report"), report.to_dict())  # last: the shard is cleaned

    def pairs(self, shard: int) -> list[Pair]:
        """The pairs of a cleaned shard."""
        lines = self._path(shard, "pairs").read_text(encoding="utf-8").split("\n")[:-1]
        return [Pair(*line.split("\t")) for line in lines]

    def digests(self) -> Digests:
        """(n,) digests of the pairs of all cleaned shards."""
        found = [np.fromfile(self._path(k, "digests"), np.uint64) for k in range(self.cleaned)]
        return np.concatenate([np.empty(0, np.uint64), *found])

    def reports(self) -> list[Report]:
        """The report of every cleaned shard."""
        paths = [self._path(k, "report") for k in range(self.cleaned)]
        return [Report.from_dict(json.loads(path.read_text(encoding="utf-8"))) for path in paths]

    def untokenised(self) -> Sequence[int]:
        """Shards without tokens."""
        return [k for k in range(self.count) if not self._path(k, "tokens").exists()]

    def write_tokens(self, shard: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write named arrays."""
        with replacing(self._path(shard, "tokens")) as stream:
            np.savez(stream, **arrays)

    def tokens(self, shard: int, name: str) -> NDArray[Any]:
        """One of the arrays of a shard."""
        with np.load(self._path(shard, "tokens")) as arrays:
            found: NDArray[Any] = arrays[name]
        return found
