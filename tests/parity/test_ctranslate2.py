"""Our weights in CTranslate2: the engine comparison measures the same model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from model.config import ModelConfig
from model.transformer import Transformer
from serving.engine import pad
from serving.errors import ConfigError
from serving.shortlist import Shortlist

ctranslate2 = pytest.importorskip("ctranslate2", reason="dragoman[bench] is not installed")

from bench.engines.agreement import agreement  # noqa: E402
from bench.engines.contender import endless_model, ours_onnx  # noqa: E402
from bench.engines.ctranslate2_engine import CTranslate2Engine  # noqa: E402
from bench.engines.ctranslate2_spec import specification, tokens  # noqa: E402

SMALL = {
    "preset": "tiny",
    "vocab_size": 90,
    "d_model": 32,
    "d_ff": 48,
    "encoder_layers": 3,
    "decoder_layers": 2,
}


@pytest.fixture(scope="module", params=["post", "pre"])
def transformer(request: pytest.FixtureRequest) -> Transformer:
    torch.manual_seed(11)
    model = Transformer(ModelConfig.from_dict({**SMALL, "norm": request.param})).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.35)
    return model


def random_sentences(seed: int, count: int, longest: int) -> list[list[int]]:
    """None of EOS alone, which CTranslate2 does not translate but answers with nothing."""
    random = np.random.default_rng(seed)
    return [
        [*random.integers(3, 90, random.integers(1, longest)).tolist(), 2] for _ in range(count)
    ]


def test_log_probabilities_of_any_target_agree(transformer: Transformer, tmp_path: Path) -> None:
    """Of every target token and EOS, beside sources and targets of other lengths."""
    sources, targets = random_sentences(0, 12, 30), random_sentences(1, 12, 30)
    specification(transformer, "float32").save(str(tmp_path))
    translator = ctranslate2.Translator(str(tmp_path), intra_threads=1)
    names = tokens(transformer.config)
    theirs = translator.score_batch(
        [[names[i] for i in ids] for ids in sources],
        [[names[i] for i in ids[:-1]] for ids in targets],
    )
    source, lengths = pad(sources, 0)
    shifted, _ = pad([[1, *ids[:-1]] for ids in targets], 0)
    with torch.inference_mode():
        hidden = transformer(*map(torch.from_numpy, (source, lengths, shifted)))
        log_prob = transformer.embedding.project(hidden).log_softmax(-1).numpy()
    for row, (ids, found) in enumerate(zip(targets, theirs, strict=True)):
        expected = log_prob[row, np.arange(len(ids)), ids]
        np.testing.assert_allclose(found.log_probs, expected, atol=2e-4)


@pytest.mark.parametrize("beam_size", [1, 4, 5])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_translations_of_one_length_are_the_same(norm: str, beam_size: int) -> None:
    model = endless_model(ModelConfig.from_dict({**SMALL, "norm": norm}))
    found = agreement(model, random_sentences(2, 20, 12), beam_size, threads=1, length=9)
    assert found.same == found.sentences
    assert found.largest_difference < 1e-3


def test_translations_that_end_are_the_same_or_ours_are_better() -> None:
    """Ours keeps hypotheses that CTranslate2 drops; see `Agreement.ours_better`."""
    model = endless_model(ModelConfig.from_dict(SMALL))
    with torch.no_grad():
        model.embedding.weight[2] *= -0.45  # EOS's logit is now near the highest
    found = agreement(model, random_sentences(3, 40, 12), 4, threads=1)
    assert found.same + found.ours_better == found.sentences
    assert found.same > 10
    assert found.largest_difference < 1e-3


def test_int8_and_batches_of_any_size_translate() -> None:
    model = endless_model(ModelConfig.from_dict(SMALL))
    sentences = random_sentences(4, 7, 12)
    whole, parts = (
        CTranslate2Engine(model, "int8", 1, workers, size).translate(sentences, 4, 9)
        for workers, size in ((1, 0), (2, 2))
    )
    assert [len(ids) for ids in whole] == [len(ids) for ids in parts] == [9] * 7


def test_a_conversion_leaves_the_model_as_it_was(transformer: Transformer) -> None:
    """CTranslate2 scales what it quantises in place."""
    before = {name: tensor.clone() for name, tensor in transformer.state_dict().items()}
    specification(transformer, "int8")
    for name, tensor in transformer.state_dict().items():
        assert torch.equal(tensor, before[name]), name


@pytest.mark.parametrize(
    "values", [{"positions": "none"}, {"encoder_attention": "window"}, {"d_k": 4}]
)
def test_other_architectures_are_refused(values: dict[str, object]) -> None:
    model = Transformer(ModelConfig.from_dict({**SMALL, **values}))
    with pytest.raises(ConfigError, match="other engines know no"):
        specification(model, "float32")


def test_a_shortlist_is_a_vocabulary_map(transformer: Transformer) -> None:
    """The same lists: alone, a sentence is translated greedily as by our engine with them.

    With a map, CTranslate2 goes on after some of the ends that ours finds; why is not known.
    """
    random = np.random.default_rng(4)
    offsets = np.concatenate(([0], np.cumsum(random.integers(0, 5, 90))))
    shortlist = Shortlist(offsets, random.integers(4, 90, offsets[-1]), np.array([2, 3, 5, 9]))
    ours = ours_onnx(transformer, "fp32", (), 1, shortlist)
    theirs = CTranslate2Engine(transformer, "fp32", 1, shortlist=shortlist)
    assert theirs.name == "CTranslate2 with shortlist"
    for ids in random_sentences(5, 20, 12):
        [expected], [found] = (one.translate([ids], 1) for one in (ours, theirs))
        assert set(found) <= set(shortlist.candidates(ids).tolist())
        assert found[: len(expected)] == expected
