"""Our weights in Hugging Face's Marian: the engine comparison measures the same model."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.config import ModelConfig
from model.transformer import Transformer
from serving.engine import pad
from serving.errors import ConfigError

pytest.importorskip("transformers", reason="dragoman[bench] is not installed")

from bench.engines.contender import endless_model, ours_pytorch
from bench.engines.hugging_face import HuggingFaceEngine, marian

SMALL = {
    "preset": "tiny",
    "vocab_size": 90,
    "d_model": 32,
    "d_ff": 48,
    "encoder_layers": 3,
    "decoder_layers": 2,
}


def random_sentences(seed: int, count: int, longest: int) -> list[list[int]]:
    random = np.random.default_rng(seed)
    return [
        [*random.integers(3, 90, random.integers(1, longest)).tolist(), 2] for _ in range(count)
    ]


def test_logits_agree() -> None:
    torch.manual_seed(11)
    model = Transformer(ModelConfig.from_dict(SMALL)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.35)
    source, lengths = pad(random_sentences(0, 12, 30), 0)
    target, target_lengths = pad([[1, *ids] for ids in random_sentences(1, 12, 30)], 0)
    inputs = [torch.from_numpy(array) for array in (source, lengths, target)]
    mask = torch.arange(source.shape[1]) < inputs[1][:, None]
    with torch.inference_mode():
        ours = model.embedding.project(model(*inputs))
        theirs = marian(model)(
            input_ids=inputs[0], attention_mask=mask.long(), decoder_input_ids=inputs[2]
        ).logits
    written = np.arange(target.shape[1]) < target_lengths[:, None]
    np.testing.assert_allclose(theirs.numpy()[written], ours.numpy()[written], atol=1e-4)


@pytest.mark.parametrize("beam_size", [1, 4, 5])
def test_translations_of_one_length_are_the_same(beam_size: int) -> None:
    model = endless_model(ModelConfig.from_dict(SMALL))
    sentences = random_sentences(2, 20, 12)
    theirs = HuggingFaceEngine(model).translate(sentences, beam_size, 9)
    assert theirs == ours_pytorch(model).translate(sentences, beam_size, 9)
    assert {len(ids) for ids in theirs} == {9}


def test_translations_end_at_eos() -> None:
    model = endless_model(ModelConfig.from_dict(SMALL))
    with torch.no_grad():
        model.embedding.weight[2] *= -0.45  # EOS's logit is now near the highest
    found = HuggingFaceEngine(model).translate(random_sentences(3, 20, 12), 4)
    assert all(2 not in ids and 0 not in ids for ids in found)
    assert len({len(ids) for ids in found}) > 1


@pytest.mark.parametrize("values", [{"norm": "pre"}, {"positions": "none"}])
def test_other_architectures_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        marian(Transformer(ModelConfig.from_dict({**SMALL, **values})))
