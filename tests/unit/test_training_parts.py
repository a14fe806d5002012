"""Loss, schedule, batches, vocabulary and configuration of training."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from model.data.batches import Pairs, collate, epoch_order
from model.data.corpus import Corpus
from model.data.tokenised import sample, tokenise
from model.data.tokens import TokenArray
from model.data.vocabulary import VocabularyConfig, placeholder, train_vocabulary
from model.training.config import TrainingConfig, check_resumable
from model.training.loss import projected_cross_entropy
from model.training.schedule import learning_rate, paper_peak
from serving.errors import ConfigError, DragomanError
from serving.text import TextProcessor


@pytest.mark.parametrize("rows", [1, 511, 512, 1300])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_equals_pytorch(rows: int, smoothing: float) -> None:
    torch.manual_seed(rows)
    hidden = torch.randn(rows, 8, requires_grad=True)
    weight = torch.randn(30, 8, requires_grad=True)
    target = torch.randint(0, 30, (rows,))
    loss, likelihood = projected_cross_entropy(hidden, weight, target, smoothing)
    found = torch.autograd.grad(loss / rows, (hidden, weight))
    logits = hidden @ weight.T
    expected = functional.cross_entropy(logits, target, label_smoothing=smoothing)
    torch.testing.assert_close(loss / rows, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(likelihood / rows, functional.cross_entropy(logits, target))
    for ours, theirs in zip(found, torch.autograd.grad(expected, (hidden, weight)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_schedule_is_equation_three_of_the_paper() -> None:
    peak = paper_peak(512, 4000)
    for step in (1, 100, 4000, 4001, 100_000):
        expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert learning_rate(step, 4000, peak) == pytest.approx(expected)


lengths = st.integers(1, 30)


@settings(deadline=None)
@given(
    sizes=st.lists(st.tuples(lengths, lengths), min_size=1, max_size=60),
    batch_tokens=st.integers(1, 200),
    epoch=st.integers(0, 3),
)
def test_batches_hold_every_pair_once_within_the_limit(
    sizes: list[tuple[int, int]], batch_tokens: int, epoch: int
) -> None:
    pairs = Pairs.of([[5] * s for s, _ in sizes], [[6] * t for _, t in sizes])
    everything = np.arange(len(sizes))
    order = epoch_order(pairs, everything, batch_tokens, seed=7, epoch=epoch)
    assert sorted(np.concatenate(order).tolist()) == list(range(len(sizes)))
    for indices in order:
        batch = collate(pairs, indices, pad_id=0, bos_id=1)
        widest = max(batch.source.numel(), batch.shifted.numel())
        assert widest <= batch_tokens or len(indices) == 1
        assert batch.tokens == sum(sizes[i][1] for i in indices)
    again = epoch_order(pairs, everything, batch_tokens, seed=7, epoch=epoch)
    assert all(np.array_equal(a, b) for a, b in zip(order, again, strict=True))


def test_collate_shifts_the_target_right() -> None:
    pairs = Pairs.of([[5, 2], [6, 7, 2]], [[8, 9, 2], [10, 2]])
    batch = collate(pairs, np.array([0, 1]), pad_id=0, bos_id=1)
    assert batch.source.tolist() == [[5, 2, 0], [6, 7, 2]]
    assert batch.lengths.tolist() == [2, 3]
    assert batch.shifted.tolist() == [[1, 8, 9], [1, 10, 2]]
    assert batch.counted.tolist() == [0, 1, 2, 3, 4]
    assert batch.target.tolist() == [8, 9, 2, 10, 2]


@given(sizes=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40))
def test_usable_pairs_are_neither_empty_nor_too_long(sizes: list[tuple[int, int]]) -> None:
    pairs = Pairs.of([[5] * s for s, _ in sizes], [[6] * t for _, t in sizes])
    kept = [i for i, (s, t) in enumerate(sizes) if min(s, t) >= 2 and max(s, t) <= 6]
    assert pairs.usable(6).tolist() == kept


@given(sequences=st.lists(st.lists(st.integers(0, 50_000), max_size=5), max_size=20))
def test_token_arrays_hold_their_sequences(sequences: list[list[int]]) -> None:
    array = TokenArray.of(sequences)
    assert [ids.tolist() for ids in array] == sequences
    assert array.lengths.tolist() == [len(s) for s in sequences]
    with pytest.raises(IndexError):
        array[len(sequences)]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("abcdefghij"), 5)) for _ in range(80)]
    lines = [" ".join(random.choice(words, random.integers(1, 9))) for _ in range(300)]
    return Corpus(lines[:150], lines[150:])


@pytest.fixture(scope="module")
def text(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> TextProcessor:
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.model"
    return train_vocabulary(corpus, VocabularyConfig(size=400, placeholders=5), path)


def test_dropout_without_dropping_is_sentencepiece(corpus: Corpus, text: TextProcessor) -> None:
    assert sample(corpus, text, 0.0, seed=1) == tokenise(corpus, text)


def test_dropout_changes_segments_but_no_text(corpus: Corpus, text: TextProcessor) -> None:
    drawn = sample(corpus, text, 0.3, seed=1)
    assert drawn == sample(corpus, text, 0.3, seed=1)
    assert drawn != sample(corpus, text, 0.3, seed=2)
    assert sum(map(len, drawn.source)) > sum(map(len, tokenise(corpus, text).source))
    assert [text.decode(ids.tolist()) for ids in drawn.source] == corpus.source


def test_dropout_spells_the_unknown_in_bytes(text: TextProcessor) -> None:
    odd = Corpus(["\u00e9\u4e2d \U0001f600 abcde", ""], ["\u00df", "x"])
    assert sample(odd, text, 0.0, seed=1) == tokenise(odd, text)


def test_placeholders_are_single_tokens(text: TextProcessor) -> None:
    for index in range(5):
        ids = text.encode(f"abcde {placeholder(index)} fghij")
        assert text.piece_ids()[placeholder(index)] in ids
        assert text.decode(ids) == f"abcde {placeholder(index)} fghij"


def test_required_characters_are_pieces(corpus: Corpus, tmp_path: Path) -> None:
    config = VocabularyConfig(size=420, placeholders=5, required='( ) é/"&\\€')
    learned = train_vocabulary(corpus, config, tmp_path / "v.model")
    assert set('()é/"&\\€') <= set(learned.piece_ids())
    assert not learned.spelling_ids & set(learned.encode('(abc) é / "&\\ 5€'.replace("5", "a")))


def test_a_vocabulary_too_large_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="100000 pieces"):
        train_vocabulary(corpus, VocabularyConfig(size=100_000), tmp_path / "v.model")


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("suffix", ["txt", "gz"])
def test_corpus_reads_plain_and_gzipped(tmp_path: Path, suffix: str) -> None:
    source = write(tmp_path / f"a.{suffix}", "eins\r\nzw\u2028ei\n\n".encode())
    target = write(tmp_path / f"b.{suffix}", b"one\ntwo\n\n")
    corpus = Corpus.read(source, target)
    assert corpus == Corpus(["eins", "zw\u2028ei", ""], ["one", "two", ""])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\n", "has 2 lines but .* has 1"),
        (b"one\ntw\xff\n", "line 2: not UTF-8"),
        (None, "cannot read"),
    ],
)
def test_bad_corpora_are_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    source, target = write(tmp_path / "a.txt", b"eins\nzwei\n"), tmp_path / "b.txt"
    if content is not None:
        write(target, content)
    with pytest.raises(DragomanError, match=message):
        Corpus.read(source, target)


CONFIG = """\
output: out
train: {source: a, target: b}
validation_set: {source: c, target: d}
"""


def load(tmp_path: Path, text: str) -> TrainingConfig:
    (tmp_path / "config.yaml").write_text(text)
    return TrainingConfig.load(tmp_path / "config.yaml")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("stepps: 3", r"unknown key 'stepps'.*known keys: .*optimisation.*seed"),
        ("optimisation: {step: 3}", r"'step' in .*optimisation; known keys: accumulate"),
        ("model: {preset: tiny, layers: 3}", r"'layers'.*known keys: .*d_model"),
        ("vocabulary: {size: many}", r"vocabulary.size must be of type int, not 'many'"),
        ("optimisation: {precision: fp8}", r"precision must be one of \('fp32', 'bf16', 'fp16'\)"),
        ("seed: true", "seed must be of type int"),
        ("model: 3", "must be a mapping"),
        ("seed: [", "cannot read"),
        ("optimisation: {steps: 0}", "steps must be at least 1"),
    ],
)
def test_wrong_configurations_name_what_is_known(tmp_path: Path, extra: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, CONFIG + extra)


def test_missing_keys_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="missing key 'train', 'validation_set'"):
        load(tmp_path, "output: out")


def test_saved_configuration_is_the_same(tmp_path: Path) -> None:
    config = load(tmp_path, CONFIG + "model: {preset: tiny}\nvocabulary: {size: 500}")
    assert config.model.d_model == 128
    assert config.model.vocab_size == 500
    config.save(tmp_path / "saved.yaml")
    assert TrainingConfig.load(tmp_path / "saved.yaml") == config


def test_only_harmless_changes_may_be_resumed(tmp_path: Path) -> None:
    before = load(tmp_path, CONFIG)
    check_resumable(before, load(tmp_path, CONFIG + "optimisation: {steps: 7}\nthreads: 1"))
    with pytest.raises(ConfigError, match="seed: 1 -> 2"):
        check_resumable(before, load(tmp_path, CONFIG + "seed: 2"))
