"""The GRU encoder-decoder against its definitions, against itself, and through search."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from model.architectures import build_model, torch_engine
from model.checkpoint import load_model, load_transformer, save_model
from model.config import ModelConfig
from model.data.batches import Pairs
from model.data.group import Group
from model.recurrent.attention import AdditiveAttention
from model.recurrent.gru import GruModel
from model.training.config import OptimisationConfig
from model.training.distributed import World
from model.training.learner import Learner
from serving.errors import ConfigError
from serving.options import DecodingOptions
from serving.search import search
from tests.unit.cached_step import assert_cached_step_equals_parallel_pass

TINY = ModelConfig(
    architecture="gru",
    vocab_size=40,
    d_model=16,
    heads=1,
    encoder_layers=1,
    decoder_layers=1,
    dropout=0.1,
)


@pytest.fixture(params=[1, 2], ids=["1-layer", "2-layers"])
def model(request: pytest.FixtureRequest) -> GruModel:
    torch.manual_seed(3)
    layers = {"encoder_layers": request.param, "decoder_layers": request.param}
    gru = GruModel(dataclasses.replace(TINY, **layers)).eval()
    for parameter in gru.parameters():  # away from zero biases
        torch.nn.init.normal_(parameter, std=0.3)
    return gru


def test_attention_equals_its_definition() -> None:
    torch.manual_seed(0)
    attention = AdditiveAttention(3, 4, 5)
    states, memory = torch.randn(2, 2, 3), torch.randn(2, 6, 4)
    mask = torch.tensor([[[True] * 6], [[True] * 2 + [False] * 4]])
    keys = attention.project_memory(memory)
    weights = attention.weights(states, keys, mask)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 2))
    assert not weights[1, :, 2:].any()
    w, u, v = attention.query, attention.key.weight, attention.score.weight[0]
    scores = [v @ torch.tanh(w(states[1, 1]) + u @ memory[1, j]) for j in range(2)]
    torch.testing.assert_close(weights[1, 1, :2], torch.softmax(torch.stack(scores), dim=0))
    found = attention(states, keys, memory, mask)
    torch.testing.assert_close(found[1, 1], weights[1, 1] @ memory[1])


def test_future_target_does_not_matter(model: GruModel) -> None:
    source, lengths = torch.tensor([[5, 6, 7, 2]]), torch.tensor([4])
    targets = (torch.tensor([[1, 9, 10, 11]]), torch.tensor([[1, 9, 30, 31]]))
    with torch.inference_mode():
        a, b = (model(source, lengths, target) for target in targets)
    torch.testing.assert_close(a[:, :2], b[:, :2])
    assert not torch.allclose(a[:, 2:], b[:, 2:])


def test_padding_does_not_matter(model: GruModel) -> None:
    """Nor do batch mates, whatever their order of lengths."""
    target = torch.tensor([[1, 9, 10]])
    source = torch.tensor([[5, 6, 2, 0, 0], [7, 8, 9, 5, 2], [8, 2, 0, 0, 0]])
    lengths = torch.tensor([3, 5, 2])
    with torch.inference_mode():
        together = model(source, lengths, target.expand(3, 3))
        for row, length in enumerate(lengths.tolist()):
            alone = model(source[row : row + 1, :length], lengths[row : row + 1], target)
            torch.testing.assert_close(alone[0], together[row], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_cached_step_equals_parallel_pass(model: GruModel, seed: int) -> None:
    assert_cached_step_equals_parallel_pass(model, torch_engine(model), seed)


def test_company_changes_no_translation(model: GruModel) -> None:
    """Sentences of all lengths that join, wait and leave at different steps."""
    random = np.random.default_rng(1)
    sentences = [[*random.integers(3, 40, n % 7 + 1).tolist(), 2] for n in range(20)]
    options, engine = DecodingOptions(beam_size=3), torch_engine(model)
    together = search(engine, sentences, options, rows=12)
    for sentence, found in zip(sentences, together, strict=True):
        alone = search(engine, [sentence], options)[0]
        assert [h.ids for h in alone] == [h.ids for h in found]
        assert [h.score for h in alone] == pytest.approx([h.score for h in found], abs=1e-4)


def test_every_parameter_learns(model: GruModel) -> None:
    hidden = model.train()(torch.tensor([[5, 6, 2]]), torch.tensor([3]), torch.tensor([[1, 9, 10]]))
    torch.autograd.backward(model.embedding.project(hidden).log_softmax(-1)[..., 3].sum())
    still = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert still == []


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_it_learns_to_reverse(precision: str) -> None:
    random = np.random.default_rng(0)
    lines = [random.integers(4, 20, random.integers(2, 6)).tolist() for _ in range(200)]
    pairs = Pairs.of([[*line, 2] for line in lines], [[*line[::-1], 2] for line in lines])
    torch.manual_seed(1)
    config = dataclasses.replace(TINY, vocab_size=20, d_model=32, dropout=0.0)
    model = build_model(config)
    options = OptimisationConfig(
        warmup=20,
        peak_rate=0.01,
        label_smoothing=0.0,
        precision=precision,  # type: ignore[arg-type]
    )
    learner = Learner(model, options, 1, World(torch.device("cpu")))
    for step in range(1, 61):
        members = [random.choice(200, 64)]
        result = learner.step(step, Group(pairs, members, config, 0, 0))
    assert result.likelihood / result.tokens < 1.0
    found = search(torch_engine(model.eval()), [[5, 6, 7, 2]], DecodingOptions(beam_size=2))
    assert found[0][0].ids == (7, 6, 5)


def test_a_checkpoint_keeps_the_architecture_and_is_not_exported(tmp_path: Path) -> None:
    model = build_model(TINY)
    save_model(tmp_path, model.state_dict(), model.config)
    loaded = load_model(tmp_path)
    assert isinstance(loaded, GruModel)
    assert all(torch.equal(w, loaded.state_dict()[n]) for n, w in model.state_dict().items())
    with pytest.raises(ConfigError, match=r"architecture 'gru'; only a transformer can be export"):
        load_transformer(tmp_path)
