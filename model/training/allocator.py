"""Keep freed memory in the process, where a training step soon needs it again."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of mallopt(3)
_LARGEST = 1 << 30


def keep_freed_memory() -> None:
    """Tell glibc not to return large blocks to the kernel; elsewhere, do nothing.

    Each activation would be mapped, faulted in page by page and unmapped again: a fifth of a
    step of a small model.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST)
        mallopt(_TRIM_THRESHOLD, _LARGEST)
