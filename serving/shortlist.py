"""Which target pieces a translation may be made of, by the pieces of its source."""

from __future__ import annotations

import dataclasses
import io
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serving.engine import Ids
from serving.errors import ConfigError

SHORTLIST = "shortlist.npz"
"""File name of a shortlist, beside a checkpoint and in a bundle."""

_ARRAYS = ("offsets", "targets", "always")


@dataclasses.dataclass(frozen=True, eq=False)
class Shortlist:
    """Candidates of each source piece, and those of every sentence.

    Attributes:
        offsets: (V + 1,) where each piece's candidates begin, and where the last end.
        targets: (total,) the candidates of all pieces, one piece after another.
        always: (M,) candidates of every sentence, EOS among them.
    """

    offsets: Ids
    targets: Ids
    always: Ids

    @classmethod
    def whole(cls, vocab_size: int) -> Shortlist:
        """All V pieces for every sentence: what no shortlist at all would allow."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(vocab_size + 1, dtype=np.int64), nothing, np.arange(vocab_size))

    @classmethod
    def load(cls, path: Path, vocab_size: int, eos_id: int) -> Shortlist:
        """Read what `to_bytes` wrote.

        Raises:
            ConfigError: the file is missing, damaged, or made for another vocabulary.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = [file[name] for name in _ARRAYS]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ConfigError(f"no shortlist can be read from {path}: {error}") from error
        fault = _fault(arrays, vocab_size, eos_id)
        if fault:
            raise ConfigError(f"{path} is no shortlist of this model: {fault}")
        return cls(*(array.astype(np.int64) for array in arrays))

    def to_bytes(self) -> bytes:
        """The file's content; the same for equal shortlists."""
        stream = io.BytesIO()
        arrays = {name: getattr(self, name).astype(np.int32) for name in _ARRAYS}
        np.savez_compressed(stream, **arrays)
        return stream.getvalue()

    @property
    def vocab_size(self) -> int:
        """V."""
        return len(self.offsets) - 1

    def of_piece(self, piece: int) -> Ids:
        """The candidates of one source piece, best first."""
        return self.targets[self.offsets[piece] : self.offsets[piece + 1]]

    def candidates(self, ids: Sequence[int] | NDArray[Any], forced: Sequence[int] = ()) -> Ids:
        """Target ids that a sentence of these source ids may use, ascending.

        A source piece itself is always among them: names and numbers are copied, also those of
        which no training text told anything. So is each that it is forced to use.
        """
        listed = np.zeros(self.vocab_size, dtype=bool)
        listed[self.always] = True
        listed[list(forced)] = True
        listed[ids] = True
        for piece in ids:
            listed[self.of_piece(piece)] = True
        return np.flatnonzero(listed)


def _fault(arrays: Sequence[NDArray[Any]], vocab_size: int, eos_id: int) -> str | None:
    """What is wrong with a file's arrays, if anything."""
    if any(array.ndim != 1 or array.dtype.kind not in "iu" for array in arrays):
        return "its arrays are no lists of ids"
    offsets, targets, always = arrays
    if len(offsets) != vocab_size + 1:
        return f"it is for {len(offsets) - 1} pieces, not {vocab_size}"
    if offsets[0] != 0 or offsets[-1] != len(targets) or (np.diff(offsets) < 0).any():
        return "its offsets do not fit its candidates"
    for ids in (targets, always):
        if len(ids) and not 0 <= ids.min() <= ids.max() < vocab_size:
            return "a candidate is no piece of the vocabulary"
    return None if eos_id in always else f"EOS ({eos_id}) is not always a candidate"
