"""Imports go one way: export -> model -> serving; and serving runs without PyTorch."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORBIDDEN = {
    "serving": {"torch", "model", "export", "safetensors", "sacrebleu", "tests"},
    "model": {"export", "onnx", "onnxruntime", "tritonclient", "tests"},
    "export": {"tests"},
    "model_repository": {"torch", "model", "export", "tests"},
}

WITHOUT_TORCH = """\
import importlib, pkgutil, sys
for name in ("torch", "model", "export", "safetensors", "sacrebleu", "yaml"):
    sys.modules[name] = None  # importing it raises ImportError
import serving
for module in pkgutil.walk_packages(serving.__path__, "serving."):
    importlib.import_module(module.name)
"""

COMPILING = """\
import importlib, pkgutil, sys
for name in ("torch", "model", "onnx", "onnxscript", "onnxruntime"):
    sys.modules[name] = None
import export.commands.compile, export.plans
for module in pkgutil.walk_packages(export.plans.__path__, "export.plans."):
    importlib.import_module(module.name)
"""


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


@pytest.mark.parametrize("package", FORBIDDEN)
def test_imports_go_one_way(package: str) -> None:
    files = list((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        wrong = set(imported(path)) & FORBIDDEN[package]
        assert not wrong, f"{path.relative_to(ROOT)} imports {wrong}"


@pytest.mark.parametrize("program", [WITHOUT_TORCH, COMPILING], ids=["serving", "compiling"])
def test_what_serves_loads_without_torch(program: str) -> None:
    """Every module of serving, and what compiles plans, where importing PyTorch fails."""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_file_is_over_300_lines() -> None:
    folders = ("model", "export", "serving", "model_repository", "tests", "bench")
    long = [
        path.relative_to(ROOT)
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if len(path.read_text(encoding="utf-8").splitlines()) > 300
    ]
    assert long == []
