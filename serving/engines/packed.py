"""What the encoder graph for CPUs takes: tokens without padding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from serving.engine import Ids


def encoder_feed(source: Ids, lengths: Ids, width: int) -> dict[str, NDArray[Any]]:
    """Inputs for padded ids (B, S'), so that padding costs nothing.

    Args:
        source: ids.
        lengths: (B,).
        width: S of the keys and values that come out, at least S'.
    """
    inside = np.arange(source.shape[1]) < lengths[:, None]
    cell = np.flatnonzero(np.pad(inside, ((0, 0), (0, width - source.shape[1]))))
    grid = np.zeros(len(source) * width, dtype=np.int64)
    grid[cell] = np.arange(len(cell))
    return {
        "source": source[inside],
        "position": cell % width,
        "grid": grid.reshape(-1, width),
        "cell": cell,
        "lengths": lengths.astype(np.int32),
    }
