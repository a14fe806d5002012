"""An interrupted run goes on exactly where it was."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import safetensors.torch
import torch

from serving.text import VOCABULARY, TextProcessor
from tests.unit.made_up_text import write_made_up

STEPS = 12

CONFIG = """\
output: {output}
seed: 5
threads: 1
train: {{source: {source}, target: {target}}}
validation_set: {{source: {source}, target: {target}}}
vocabulary: {{size: 360, dropout: 0.1}}
model: {{preset: tiny, d_model: 32, d_ff: 48, encoder_layers: 1, decoder_layers: 1, dropout: 0.2}}
optimisation: {{steps: {steps}, batch_tokens: 200, accumulate: 2, warmup: 5, peak_rate: 0.01}}
checkpoints: {{every: 2, average: 3}}
validation: {{every: 5, sentences: 4, beam_size: 2}}
"""


def write_config(folder: Path, name: str, steps: int = STEPS) -> Path:
    config = folder / f"{name}.yaml"
    paths = {"source": folder / "source", "target": folder / "target"}
    write_made_up([*paths.values()], lines=90)
    config.write_text(CONFIG.format(output=folder / name, steps=steps, **paths))
    return config


def start(config: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "serving.cli", "train", str(config)]
    log = config.with_suffix(".log").open("ab")
    return subprocess.Popen(command, stdout=log, stderr=log)


def finish(config: Path) -> Path:
    process = start(config)
    assert process.wait(timeout=300) == 0, config.with_suffix(".log").read_text()
    return config.with_suffix("")


def checkpoints(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "checkpoints").glob("step-*"))


def wait_for_checkpoint(run: Path, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None and not checkpoints(run):
        time.sleep(0.01)


def files(run: Path) -> dict[str, dict[str, torch.Tensor]]:
    """All weights and optimiser states that a run left."""
    last = f"checkpoints/step-{STEPS:08d}"
    names = [f"{last}/model", f"{last}/optimiser", "averaged/model", "best/model"]
    return {name: safetensors.torch.load_file(run / f"{name}.safetensors") for name in names}


def assert_bit_equal(run: Path, other: Path) -> None:
    for name, tensors in files(run).items():
        for key, tensor in files(other)[name].items():
            assert torch.equal(tensor, tensors[key]), (name, key)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finish(write_config(tmp_path_factory.mktemp("run"), "whole"))


def test_a_killed_run_ends_bit_equal(tmp_path: Path, uninterrupted: Path) -> None:
    """SIGKILL at three random moments, then to the end."""
    config = write_config(tmp_path, "killed")
    moments = random.Random()
    kills = 0
    for _ in range(3):
        process = start(config)
        wait_for_checkpoint(config.with_suffix(""), process)
        time.sleep(moments.uniform(0, 0.3))
        process.kill()
        kills += process.wait() == -signal.SIGKILL
    assert kills >= 1
    assert_bit_equal(uninterrupted, finish(config))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_run_saves_and_goes_on(
    tmp_path: Path, uninterrupted: Path, number: signal.Signals
) -> None:
    config = write_config(tmp_path, "stopped")
    process = start(config)
    wait_for_checkpoint(config.with_suffix(""), process)
    os.kill(process.pid, number)
    assert process.wait(timeout=60) in (130, 0)
    assert (config.with_suffix("") / "averaged").is_dir()
    assert_bit_equal(uninterrupted, finish(config))


def test_more_steps_go_on_from_the_end(tmp_path: Path, uninterrupted: Path) -> None:
    write_config(tmp_path, "extended", steps=7)
    finish(tmp_path / "extended.yaml")
    write_config(tmp_path, "extended")
    assert_bit_equal(uninterrupted, finish(tmp_path / "extended.yaml"))


def test_debris_of_a_killed_save_is_harmless(tmp_path: Path, uninterrupted: Path) -> None:
    config = write_config(tmp_path, "debris", steps=7)
    run = finish(config)
    partial = run / "checkpoints" / ".step-00000008.partial"
    partial.mkdir()
    (partial / "model.safetensors").write_bytes(b"half")
    write_config(tmp_path, "debris")
    assert_bit_equal(uninterrupted, finish(config))


def test_a_run_begins_with_a_checkpoint_and_augments_anew(
    tmp_path: Path, uninterrupted: Path
) -> None:
    config = write_config(tmp_path, "further", steps=2)
    text = config.read_text().replace("peak_rate: 0.01", "peak_rate: 1.0e-9")
    more = f"initial: {uninterrupted / 'averaged'}\naugmentation: {{symbols: 0.5, quoted: 0.2}}\n"
    config.write_text(text + more)
    run = finish(config)
    assert (run / "vocabulary.model").read_bytes() == (
        uninterrupted / "vocabulary.model"
    ).read_bytes()
    before = safetensors.torch.load_file(uninterrupted / "averaged" / "model.safetensors")
    for name, tensor in safetensors.torch.load_file(run / "averaged" / "model.safetensors").items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=1e-6, msg=name)


def test_another_vocabulary_keeps_the_embeddings_of_pieces_that_both_have(
    tmp_path: Path, uninterrupted: Path
) -> None:
    config = write_config(tmp_path, "spelled", steps=2)
    text = config.read_text().replace("peak_rate: 0.01", "peak_rate: 1.0e-9")
    text = text.replace("size: 360", 'size: 380, required: "(é)"')
    more = f"initial: {uninterrupted / 'averaged'}\ninitial_vocabulary: false\n"
    config.write_text(text + more)
    run = finish(config)
    folders = uninterrupted / "averaged", run / "averaged"
    theirs, ours = (TextProcessor.load(folder / VOCABULARY).piece_ids() for folder in folders)
    assert {"(", "é", ")"} <= set(ours) - set(theirs)
    before, after = (safetensors.torch.load_file(f / "model.safetensors") for f in folders)
    shared = sorted(set(ours) & set(theirs))
    rows = [after.pop("embedding.weight")[[ours[piece] for piece in shared]]]
    rows += [before.pop("embedding.weight")[[theirs[piece] for piece in shared]]]
    torch.testing.assert_close(*rows, rtol=0, atol=1e-6)
    assert len(shared) > 300
    for name, tensor in after.items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=1e-6, msg=name)
