"""What the figures depend on beside the code: processor, versions and variables."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

PACKAGES = ("ctranslate2", "transformers", "torch", "onnxruntime", "numpy")
FLAGS = (
    *("avx2", "fma", "avx512f", "avx512bw", "avx512_vnni", "avx_vnni"),
    *("amx_tile", "amx_int8", "amx_bf16"),
)
VARIABLES = ("CT2_", "OMP_", "KMP_", "GOMP_", "MKL_", "DNNL_", "ONEDNN_", "ORT_")
"""Beginnings of the names of environment variables that steer the libraries."""


def versions() -> dict[str, str]:
    """The version of every library whose speed is measured."""
    return {name: importlib.metadata.version(name) for name in PACKAGES}


def processor_flags() -> list[str]:
    """Which of the instruction sets for matrix products the processor has."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    flags = next((line for line in lines if line.startswith("flags")), "").split()
    return [flag for flag in FLAGS if flag in flags]


def variables() -> dict[str, str]:
    """Set variables that steer the libraries."""
    return {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
