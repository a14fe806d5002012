"""A compile that is killed at any moment leaves no plan that is bad."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from export.onnx_graphs import Graphs
from serving.engines.gpu.machine import Machine
from serving.engines.gpu.plans import Origin, PlanFolder
from serving.errors import ConfigError
from tests.parity.compiling import MACHINE, ROOT, SHAPES, loaded, wanted, write_bundle

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
    sizes = {name: len(plan) for name, plan in loaded(bundle, versions[0]).items()}
    plans = [wanted(bundle, machine) for machine in versions]
    moments, killed = random.Random(5), 0
    for machine in versions[1:]:
        process = start(bundle, machine)
        time.sleep(moments.uniform(0.4, 1) * whole)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        for name, plan in loadable(bundle, plans):
            assert len(plan) == sizes[name]  # builds differ in a few bytes
            assert plan == PlanFolder.of(bundle).plan_file(name).read_bytes()
    assert killed > KILLS / 2
    assert start(bundle, MACHINE).wait() == 0
    assert loaded(bundle).keys() == sizes.keys()
    folder = PlanFolder.of(bundle)
    assert folder.shapes() == SHAPES
    assert not list(folder.path.glob(".*.partial"))


def loadable(bundle: Path, machines: list[dict[str, Origin]]) -> Iterator[tuple[str, bytes]]:
    """What an engine would load, on whichever of the machines."""
    folder = PlanFolder.of(bundle)
    for plans in machines:
        for name, origin in plans.items():
            with contextlib.suppress(ConfigError):
                yield name, folder.load(name, origin)
