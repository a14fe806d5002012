"""What a measurement ran on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from model.processor import processor


def machine() -> str:
    """Processor, cores, load and Python in one line."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    flags = next((line for line in lines if line.startswith("flags")), "")
    wide = [flag for flag in ("avx2", "avx512f", "amx_bf16") if flag in flags.split()]
    return (
        f"{processor()}, {os.cpu_count()} cores ({', '.join(wide)}), "
        f"load {os.getloadavg()[0]:.1f} at the start, Python {platform.python_version()}"
    )
