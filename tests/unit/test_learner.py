"""Precision, compilation and loss scaling change how a step is computed, not what it learns."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pytest
import torch

from model.config import ModelConfig
from model.data.batches import Pairs
from model.data.group import Group
from model.training.config import OptimisationConfig
from model.training.distributed import World
from model.training.learner import Learner
from model.transformer import Transformer
from serving.errors import ConfigError, DragomanError

CONFIG = ModelConfig(
    vocab_size=50, d_model=32, d_ff=48, heads=4, encoder_layers=1, decoder_layers=1, dropout=0.0
)
OPTIONS = OptimisationConfig(warmup=10, peak_rate=0.01)
ALONE = World(torch.device("cpu"))


@pytest.fixture(scope="module")
def group() -> Group:
    """Two batches of sentences that are to be copied."""
    random = np.random.default_rng(0)
    lines = [[*random.integers(4, 50, random.integers(1, 9)).tolist(), 2] for _ in range(40)]
    members = [np.arange(0, 25), np.arange(25, 40)]
    return Group(Pairs.of(lines, lines), members, CONFIG, 0, 1)


def learner(**options: object) -> Learner:
    torch.manual_seed(1)
    config = dataclasses.replace(OPTIONS, **options)  # type: ignore[arg-type]
    return Learner(Transformer(CONFIG), config, seed=1, world=ALONE)


def losses(learner: Learner, group: Group, steps: int) -> list[float]:
    return [learner.step(n, group).loss / group.tokens for n in range(1, steps + 1)]


def test_bfloat16_learns_like_fp32(group: Group) -> None:
    full, half = learner(), learner(precision="bf16")
    expected, found = losses(full, group, 12), losses(half, group, 12)
    assert found == pytest.approx(expected, rel=0.02)
    assert found != expected, "nothing was computed in bfloat16"
    assert found[-1] < 0.9 * found[0]
    assert {p.dtype for p in half.model.parameters()} == {torch.float32}


@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs a C++ compiler")
def test_a_compiled_model_learns_the_same(group: Group) -> None:
    expected = losses(learner(), group, 3)
    assert losses(learner(compile=True), group, 3) == pytest.approx(expected, rel=1e-4)


def test_fp16_is_refused_without_a_gpu() -> None:
    with pytest.raises(ConfigError, match="needs a GPU"):
        learner(precision="fp16")


def test_gradients_do_not_depend_on_the_scale_of_the_loss(group: Group) -> None:
    """What loss scaling relies on: the joint loss passes a factor on to its gradients."""
    plain, scaled = learner(), learner()
    scaled.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    assert losses(scaled, group, 5) == pytest.approx(losses(plain, group, 5), rel=1e-4)


def test_a_step_that_overflows_is_left_out(group: Group) -> None:
    scaled = learner()
    scaled.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    weight = scaled.model.embedding.weight
    weight.register_hook(lambda gradient: gradient * torch.inf)  # type: ignore[no-untyped-call]
    before = [p.clone() for p in scaled.model.parameters()]
    scaled.step(1, group)
    assert all(torch.equal(a, b) for a, b in zip(before, scaled.model.parameters(), strict=True))
    assert scaled.scaler.get_scale() == 512.0


def test_a_step_that_diverges_is_told_and_changes_no_weight(group: Group) -> None:
    diverging = learner()
    weight = diverging.model.embedding.weight
    weight.register_hook(lambda gradient: gradient * torch.nan)  # type: ignore[no-untyped-call]
    before = [p.clone() for p in diverging.model.parameters()]
    with pytest.raises(DragomanError, match="diverged at step 7: the gradient's norm is nan"):
        diverging.step(7, group)
    assert all(torch.equal(a, b) for a, b in zip(before, diverging.model.parameters(), strict=True))


@pytest.mark.parametrize(("capability", "warns"), [("AVX2", True), ("AVX512", False)])
def test_slow_bf16_is_told(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capability: str,
    warns: bool,
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    learner(precision="bf16")
    assert ("twenty times" in caplog.text) is warns
