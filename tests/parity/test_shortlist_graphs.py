"""Graphs that choose from shortlists: never beyond a sentence's list, never changed by company."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from export.bundle_writer import write_bundle
from export.cpu_engine import open_graphs, precise_graphs
from export.onnx_graphs import Graphs
from export.proof import prove
from model.engine import TorchEngine, engine_spec
from model.transformer import Transformer
from serving.batch import Hypothesis
from serving.bundle import DECODER_STEP, SPEC, Bundle
from serving.engine import IMPOSSIBLE, NEVER, Demand, Edits, Rows, pad
from serving.engines.onnx import OnnxEngine
from serving.errors import ConfigError
from serving.options import DecodingOptions
from serving.search import search
from serving.shortlist import SHORTLIST, Shortlist
from serving.text import VOCABULARY
from tests.parity.company import assert_company_changes_nothing
from tests.parity.models import joining, random_sentences, small_model

V, EOS = 1500, 2
CALIBRATION = random_sentences(np.random.default_rng(3), 40, 14)


def random_shortlist(seed: int, longest: int) -> Shortlist:
    """Up to that many candidates of each piece; 5 and 9 for all."""
    random = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(random.integers(0, longest + 1, V))))
    targets = random.integers(3, V, offsets[-1])
    return Shortlist(offsets, targets, np.array([EOS, 5, 9]))


@pytest.fixture(scope="module")
def transformer() -> Transformer:
    return small_model(vocab_size=V)


def engines(graphs: Graphs, transformer: Transformer) -> dict[str, OnnxEngine]:
    """Graphs with lists that are long, short, next to none, or all there is."""
    lists = {
        "long": random_shortlist(0, 200),
        "short": random_shortlist(1, 30),
        "none": random_shortlist(2, 0),
        "whole": Shortlist.whole(V),
    }
    spec = engine_spec(transformer)
    return {name: open_graphs(graphs, spec, 1, shortlist=one) for name, one in lists.items()}


@pytest.fixture(scope="module")
def int8_graphs(transformer: Transformer) -> Graphs:
    return precise_graphs(transformer, "int8", CALIBRATION, listed=True)


@pytest.fixture(scope="module")
def fp32(transformer: Transformer) -> dict[str, OnnxEngine]:
    return engines(precise_graphs(transformer, "fp32", (), listed=True), transformer)


@pytest.fixture(scope="module")
def int8(transformer: Transformer, int8_graphs: Graphs) -> dict[str, OnnxEngine]:
    return engines(int8_graphs, transformer)


@pytest.fixture(scope="module")
def plain(transformer: Transformer) -> Graphs:
    return precise_graphs(transformer, "int8", CALIBRATION)


def test_a_list_of_all_pieces_is_no_list(
    transformer: Transformer, fp32: dict[str, OnnxEngine]
) -> None:
    sentences = random_sentences(np.random.default_rng(0), 20, 12)
    proof = prove(TorchEngine(transformer), fp32["whole"], sentences, beams=(1, 4))
    assert proof.largest_difference < 1e-4


def test_a_list_of_all_pieces_is_no_list_in_int8(
    transformer: Transformer, plain: Graphs, int8: dict[str, OnnxEngine]
) -> None:
    """To the same numbers but for the last bits of the normaliser."""
    sentences = random_sentences(np.random.default_rng(1), 20, 12)
    without = open_graphs(plain, engine_spec(transformer), 1)
    options = DecodingOptions(4)
    for expected, found in zip(
        *(search(one, sentences, options) for one in (without, int8["whole"])), strict=True
    ):
        assert [h.ids for h in found] == [h.ids for h in expected]
        assert found[0].score == pytest.approx(expected[0].score, abs=1e-4)


@pytest.mark.parametrize("lists", ["long", "short", "none"])
@pytest.mark.parametrize("seed", range(2))
def test_company_changes_nothing(
    fp32: dict[str, OnnxEngine], int8: dict[str, OnnxEngine], lists: str, seed: int
) -> None:
    assert_company_changes_nothing(fp32[lists], seed, tolerance=2e-5)
    assert_company_changes_nothing(int8[lists], seed, tolerance=0.0)


@pytest.mark.parametrize("lists", ["long", "short", "none"])
@pytest.mark.parametrize("beam_size", [1, 8])
def test_every_token_is_of_the_sentences_list(
    int8: dict[str, OnnxEngine], lists: str, beam_size: int
) -> None:
    engine = int8[lists]
    assert engine.shortlist is not None
    sentences = random_sentences(np.random.default_rng(5), 20, 12)
    options = DecodingOptions(beam_size, n_best=beam_size)
    for ids, found in zip(sentences, search(engine, sentences, options), strict=True):
        allowed = set(engine.shortlist.candidates(ids).tolist())
        assert found
        for hypothesis in found:
            assert_of_list(hypothesis, allowed)


def assert_of_list(hypothesis: Hypothesis, allowed: set[int]) -> None:
    assert set(hypothesis.ids) <= allowed
    assert -1e3 < hypothesis.score <= 0


def test_log_probabilities_are_of_the_list(
    transformer: Transformer, fp32: dict[str, OnnxEngine]
) -> None:
    """Against PyTorch on the whole vocabulary, cut to the list and normalised again."""
    engine = fp32["none"]
    assert engine.shortlist is not None
    sentences = [[7, 8, 11, EOS], [30, EOS]]
    decoders = TorchEngine(transformer).decoder(), engine.decoder()
    for decoder in decoders:
        decoder.join(*joining(sentences))
    zeros = np.zeros(2, dtype=np.int64)
    rows = Rows(np.arange(2), zeros + 1, zeros, zeros)
    found = decoders[1].step(rows)
    assert np.isfinite(found.log_prob).sum(axis=1).tolist() == [6, 4]
    for row, ids in enumerate(sentences):
        real = np.isfinite(found.log_prob[row])
        assert np.exp(found.log_prob[row][real]).sum() == pytest.approx(1.0, abs=1e-5)
        assert sorted(found.token[row][real]) == engine.shortlist.candidates(ids).tolist()
        assert (found.token[row][~real] == 0).all()


def test_edits_name_tokens_of_the_list(
    transformer: Transformer, fp32: dict[str, OnnxEngine]
) -> None:
    """A blocked, a penalised, a forced token, and one that the list has not."""
    decoders = [fp32["none"].decoder() for _ in range(2)]
    source, lengths = pad([[7, 8, EOS], [30, EOS]], 0)
    for decoder in decoders:
        decoder.join(source, [Demand(int(n), 1, 20, forced=(44,)) for n in lengths])
    zeros = np.zeros(2, dtype=np.int64)
    edits = Edits(
        ids=np.array([[7, 44, 60], [EOS, 44, 30]]),
        factor=np.array([[1, 2, 1], [1, 1, 3]], dtype=np.float32),
        addend=np.array([[NEVER, 0, 0], [NEVER, 0, -1]], dtype=np.float32),
    )
    rows = Rows(np.arange(2), zeros + 1, zeros, zeros)
    expected, found = decoders[0].step(rows), decoders[1].step(replace(rows, edits=edits))
    for row in range(2):
        plain, changed = (
            dict(zip(f.token[row].tolist(), f.log_prob[row].tolist(), strict=True))
            for f in (expected, found)
        )
        for column in range(3):
            token = int(edits.ids[row, column])
            value = (
                plain.pop(token, -np.inf) * edits.factor[row, column] + edits.addend[row, column]
            )
            impossible = value < IMPOSSIBLE
            assert found.edited[row, column] < IMPOSSIBLE if impossible else True
            assert changed.pop(token, -np.inf) == pytest.approx(-np.inf if impossible else value)
        assert {t: changed[t] for t in plain if t} == pytest.approx(
            {t: plain[t] for t in plain if t}
        )


def test_constraints_hold_within_lists(fp32: dict[str, OnnxEngine]) -> None:
    """A prefix of tokens that no list has, symbols, and no n-gram twice; the same in company."""
    engine, symbols = fp32["short"], frozenset({10, 11, 12})
    assert engine.shortlist is not None
    sources = [[20, 11, 21, EOS], [22, EOS], [23, 24, 12, 25, EOS]]
    prefixes = [(), (1400, 1401), (1402,)]
    options = DecodingOptions(3, n_best=3, no_repeat_ngram_size=1, suppress=((9,), (5,)))
    together = search(engine, sources, options, prefixes=prefixes, symbols=symbols)
    for source, prefix, found in zip(sources, prefixes, together, strict=True):
        [alone] = search(engine, [source], options, prefixes=[prefix], symbols=symbols)
        assert [h.ids for h in alone] == [h.ids for h in found]
        for hypothesis in found:
            assert hypothesis.ids[: len(prefix)] == prefix
            assert not {5, 9} & set(hypothesis.ids)
            copied = [token for token in hypothesis.ids if token in symbols]
            assert sorted(copied) == sorted(token for token in source if token in symbols)


@pytest.fixture(scope="module")
def bundle(
    transformer: Transformer, int8_graphs: Graphs, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    (folder / "made-up").write_bytes(b"no real vocabulary")
    shortlist = random_shortlist(1, 30)
    write_bundle(folder, int8_graphs, engine_spec(transformer), folder / "made-up", shortlist)
    return folder


def test_a_bundle_opens_its_shortlist(bundle: Path, int8: dict[str, OnnxEngine]) -> None:
    opened = Bundle.open(bundle).engine(threads=1)
    sentences = random_sentences(np.random.default_rng(6), 10, 12)
    options = DecodingOptions(4)
    assert search(opened, sentences, options) == search(int8["short"], sentences, options)


def test_a_damaged_shortlist_is_refused(bundle: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(bundle, copy)
    path = copy / SHORTLIST
    path.write_bytes(random_shortlist(4, 30).to_bytes())
    with pytest.raises(ConfigError, match="shortlist.npz is not the file that was exported"):
        Bundle.open(copy)
    path.unlink()
    with pytest.raises(ConfigError, match="shortlist.npz is missing"):
        Bundle.open(copy)


def test_graphs_and_shortlist_that_do_not_belong_together_are_refused(bundle: Path) -> None:
    spec = Bundle.open(bundle).spec
    graphs = (bundle / "encoder.onnx", bundle / DECODER_STEP)
    with pytest.raises(ConfigError, match="takes a shortlist"):
        OnnxEngine(*graphs, spec, 1)


def test_an_export_without_shortlist_removes_an_earlier_one(
    bundle: Path, transformer: Transformer, plain: Graphs, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(bundle, copy)
    write_bundle(copy, plain, engine_spec(transformer), copy / "made-up")
    assert not (copy / SHORTLIST).exists()
    assert SHORTLIST not in json.loads((copy / SPEC).read_text())["sha256"]
    assert (copy / VOCABULARY).exists()
    assert Bundle.open(copy).shortlist is None
    with pytest.raises(ConfigError, match="takes no shortlist"):
        OnnxEngine(
            copy / "encoder.onnx",
            copy / DECODER_STEP,
            engine_spec(transformer),
            1,
            shortlist=Shortlist.whole(V),
        )
