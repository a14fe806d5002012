"""Processes that share their gradients learn what one process learns."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.unit.test_resume import STEPS, wait_for_checkpoint, write_config

ONE = [sys.executable, "-m", "serving.cli"]
TWO = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
TWO += ["-m", "serving.cli"]


def train(command: list[str], config: Path) -> Path:
    result = subprocess.run([*command, "train", str(config)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return config.with_suffix("")


def losses(run: Path) -> list[float]:
    events = EventAccumulator(str(run / "tensorboard"), size_guidance={"tensors": 0})
    events.Reload()
    return [e.tensor_proto.float_val[0] for e in events.Tensors("train/loss")]


def weights(run: Path) -> dict[str, torch.Tensor]:
    return safetensors.torch.load_file(run / f"checkpoints/step-{STEPS:08d}/model.safetensors")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(ONE, write_config(tmp_path_factory.mktemp("run"), "alone"))


def assert_same(run: Path, other: Path) -> None:
    for name, tensor in weights(other).items():
        torch.testing.assert_close(weights(run)[name], tensor, rtol=1e-3, atol=1e-4)


def test_two_processes_equal_one_with_twice_the_batches(tmp_path: Path, alone: Path) -> None:
    """Two batches a step: one process takes both, or each of two takes one. Dropout is on."""
    both = train(TWO, write_config(tmp_path, "both"))
    assert losses(both) == pytest.approx(losses(alone), rel=1e-4)
    assert len(losses(alone)) == STEPS
    assert_same(both, alone)


def test_a_run_moves_from_two_processes_to_one(tmp_path: Path, alone: Path) -> None:
    train(TWO, write_config(tmp_path, "moved", steps=5))
    assert_same(train(ONE, write_config(tmp_path, "moved")), alone)


def test_two_stopped_processes_save_once_and_go_on(tmp_path: Path, alone: Path) -> None:
    config = write_config(tmp_path, "stopped", steps=10_000)
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([*TWO, "train", str(config)], stderr=log)
        checkpoints = tmp_path / "stopped/checkpoints"
        wait_for_checkpoint(tmp_path / "stopped", process)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(timeout=60) != 0
    last = sorted(checkpoints.glob("step-*"))[-1]
    state = json.loads((last / "state.json").read_text())
    assert state["step"] == int(last.name.removeprefix("step-")), (tmp_path / "log").read_text()
    assert (tmp_path / "stopped/averaged").is_dir()
