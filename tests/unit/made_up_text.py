"""Files of made-up words for miniature trainings."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path


def write_made_up(paths: Sequence[Path], lines: int, shortest: int = 1) -> None:
    """Line-aligned files of `shortest` to 6 words a line; the same on every call."""
    words = random.Random(1)
    for path in paths:
        text = [
            " ".join(
                "".join(words.choices("abcdefgh", k=4)) for _ in range(words.randint(shortest, 6))
            )
            for _ in range(lines)
        ]
        path.write_text("\n".join(text) + "\n")
