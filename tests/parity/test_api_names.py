"""Every name of TensorRT and CUDA that we use exists, with its arguments, in the real bindings.

No GPU and no TensorRT is here. The bindings are imported over stubs of TensorRT's libraries,
in a process of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.parity.tensorrt_stubs import make_stubs

ROOT = Path(__file__).parents[2]
SOURCES = [path for name in ("export", "serving") for path in sorted((ROOT / name).rglob("*.py"))]

WRONG = """\
def build(trt, cudart, network: trt.INetworkDefinition):
    builder = trt.Builder(trt.Logger())
    builder.create_netwrk(0)
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.FP16)
    config.set_timing_cache(config.create_timing_cache(b""), ignore=True)
    network.get_input()
    cudart.cudaMalocc(1)
    cudart.cudaMalloc(1, 2)
    for tensor in [network.get_input(0)]:
        tensor.shapes
"""
FAULTS = [
    "3: Builder.create_netwrk does not exist",
    "5: BuilderFlag.FP16 does not exist",
    "6: config.set_timing_cache has no argument 'ignore'",
    "7: network.get_input needs the argument 'index'",
    "8: cuda.bindings.runtime.cudaMalocc does not exist",
    "9: cudart.cudaMalloc takes 1 arguments, not 2",
    "11: ITensor.shapes does not exist",
]


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Libraries that define what the bindings need of TensorRT's, and do nothing."""
    folder = tmp_path_factory.mktemp("stubs")
    make_stubs(folder)
    return folder


def check(stubs: Path, *files: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.parity.api.checker", *map(str, files)],
        cwd=ROOT,
        env={**os.environ, "LD_LIBRARY_PATH": str(stubs)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_every_name_exists(stubs: Path) -> None:
    found = check(stubs, *SOURCES)
    assert found["faults"] == []
    expected = {
        "Builder.build_serialized_network",
        "IOptimizationProfile.set_shape",
        "OnnxParser.parse",
        "ParserError.node_name",
        "ITensor.get_dimension_name",
        "INetworkDefinition.add_kv_cache_update",
        "ICudaEngine.create_execution_context",
        "IExecutionContext.execute_async_v3",
        "tensorrt_bindings.nptype",
        "cuda.bindings.runtime.cudaGetDeviceProperties",
        "cuda.bindings.runtime.cudaGraphInstantiate",
    }
    assert expected <= set(found["used"])


def test_wrong_names_and_arguments_are_found(stubs: Path, tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(WRONG)
    assert check(stubs, planted)["faults"] == [f"{planted}:{fault}" for fault in FAULTS]
