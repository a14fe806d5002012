"""A compile that is killed at any moment leaves no plan that is bad."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from export.onnx_graphs import Graphs
from serving.engines.gpu.machine import Machine
from serving.engines.gpu.plans import PlanFolder
from serving.errors import ConfigError
from tests.parity.compiling import MACHINE, ROOT, SHAPES, loaded, origins, write_bundle

KILLS = 20


@pytest.fixture
def bundle(tmp_path: Path, small_gpu_graphs: Graphs) -> Path:
    (tmp_path / "shapes.json").write_text(SHAPES.to_json())
    return write_bundle(tmp_path / "bundle", small_gpu_graphs)


def start(bundle: Path, machine: Machine) -> subprocess.Popen[str]:
    shapes = bundle.parent / "shapes.json"
    return subprocess.Popen(
        [sys.executable, "-m", "tests.parity.compiling", str(bundle), "--shapes", str(shapes)],
        cwd=ROOT,
        env={**os.environ, "TENSORRT": machine.tensorrt},
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_compiles_leave_nothing_bad_and_the_next_one_ends(bundle: Path) -> None:
    """Every run is of another TensorRT, so that it has all plans to replace."""
    versions = [dataclasses.replace(MACHINE, tensorrt=f"11.{n}") for n in range(KILLS + 1)]
    begin = time.perf_counter()
    assert start(bundle, versions[0]).wait() == 0
    whole = time.perf_counter() - begin
    good = loaded(bundle, SHAPES, versions[0])
    moments = random.Random(5)
    for machine in versions[1:]:
        process = start(bundle, machine)
        time.sleep(moments.uniform(0.3, 1) * whole)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for name, contents in whole_plans(bundle, versions).items():
            for content in contents:
                assert content == good[name]
    assert start(bundle, MACHINE).wait() == 0
    assert loaded(bundle, SHAPES).keys() == good.keys()
    folder = PlanFolder.of(bundle)
    assert folder.shapes() == SHAPES
    assert not list(folder.path.glob(".*.partial"))


def whole_plans(bundle: Path, machines: list[Machine]) -> dict[str, list[bytes]]:
    """What an engine would load on each of the machines, by the plan's name."""
    folder = PlanFolder.of(bundle)
    found: dict[str, list[bytes]] = {}
    for machine in machines:
        for name, origin in origins(bundle, SHAPES, machine).items():
            try:
                found.setdefault(name, []).append(folder.load(name, origin))
            except ConfigError:
                continue
    return found
