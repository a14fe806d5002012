"""What a measurement ran on."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def processor() -> str:
    """The processor's name as the kernel gives it, or its architecture."""
    names = _values("model name")
    return names[0] if names else platform.machine()


def machine() -> str:
    """Processor, cores, load and Python in one line."""
    flags = next(iter(_values("flags")), "").split()
    wide = [flag for flag in ("avx2", "avx512f", "amx_bf16") if flag in flags]
    return (
        f"{processor()}, {os.cpu_count()} cores ({', '.join(wide)}), "
        f"load {os.getloadavg()[0]:.1f} at the start, Python {platform.python_version()}"
    )


def _values(name: str) -> list[str]:
    """What the kernel says of that name, for each core."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(name)]
