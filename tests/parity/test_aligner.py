"""`aligner.onnx`: equal to PyTorch's attention, and the same in every company."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest

from export.aligner.graph import HEADS, aligner_graph
from export.aligner.heads import Heads, candidates
from export.bundle_writer import write_bundle
from export.cpu_engine import precise_graphs
from export.onnx_graphs import Graphs
from model.cross_attention import cross_attentions
from model.engine import engine_spec
from model.transformer import Transformer
from model.word_pairs import WordPair, links_of
from serving.alignment import Pieces, word_links
from serving.bundle import ALIGNER, Bundle
from serving.engines.aligner import Aligner
from serving.errors import ConfigError
from tests.parity.models import random_sentences, small_model
from tests.parity.shipped import BUNDLE, torch_transformer

HEADS_CHOSEN = Heads(1, (1, 3), True)
"""Of the second layer, so that there is one below."""


class Case(NamedTuple):
    """A small model, and what was exported of it."""

    model: Transformer
    graphs: Graphs
    graph: onnx.ModelProto
    aligner: Aligner


@pytest.fixture(scope="module")
def case() -> Case:
    model = small_model(norm="pre", encoder_layers=1)
    graphs, graph = precise_graphs(model, "fp32", ()), aligner_graph(model, HEADS_CHOSEN)
    contents = (graphs.encoder.SerializeToString(), graph.SerializeToString())
    return Case(model, graphs, graph, Aligner(*contents, engine_spec(model)))


def sentences(seed: int, count: int) -> tuple[list[list[int]], list[list[int]]]:
    random = np.random.default_rng(seed)
    return random_sentences(random, count, 14), random_sentences(random, count, 11)


def test_weights_are_those_of_pytorch(case: Case) -> None:
    sources, targets = sentences(0, 70)
    found = case.aligner.align(sources, targets)
    expected = map(HEADS_CHOSEN.of, cross_attentions(case.model, sources, targets))
    for wanted, one in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, wanted, atol=5e-3)  # the embedding is in FP16
        np.testing.assert_allclose(one.sum(axis=1), 1, atol=1e-5)


def test_company_changes_nothing(case: Case) -> None:
    aligner = case.aligner
    sources, targets = sentences(1, 40)
    together = aligner.align(sources, targets)
    for place in range(0, 40, 7):
        [alone] = aligner.align([sources[place]], [targets[place]])
        np.testing.assert_allclose(alone, together[place], atol=1e-5)


def test_empty_sides_have_no_cells(case: Case) -> None:
    found = case.aligner.align([[], [5, 2], [5, 2]], [[7, 2], [], [7, 8, 2]])
    assert [one.shape for one in found] == [(2, 0), (0, 2), (3, 2)]
    assert case.aligner.align([], []) == []


def test_long_sentences_and_many_threads(case: Case) -> None:
    aligner = case.aligner
    random = np.random.default_rng(2)
    sources = [[*random.integers(3, 90, n).tolist(), 2] for n in (900, 3, 700, 1)]
    targets = [[*random.integers(3, 90, n).tolist(), 2] for n in (940, 2, 30, 600)]
    expected = aligner.align(sources, targets)
    found: list[Any] = [None] * 4

    def work(place: int) -> None:
        found[place] = aligner.align(sources, targets)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        for wanted, attention in zip(expected, one, strict=True):
            np.testing.assert_array_equal(attention, wanted)


def test_the_graph_says_where_its_attention_comes_from(case: Case) -> None:
    assert {note.key: note.value for note in case.graph.metadata_props} == {
        HEADS: "layer 2, heads 2, 4, reading"
    }
    assert [i.name for i in case.graph.graph.input] == [
        *("target", "lengths", "cross_key.0", "cross_value.0", "cross_key.1")
    ]


def test_a_bundle_has_an_aligner_or_says_so(case: Case, tmp_path: Path) -> None:
    rest = (case.graphs, engine_spec(case.model), BUNDLE / "vocabulary.model")
    write_bundle(tmp_path, *rest, aligner=case.graph)
    found = Bundle.open(tmp_path).aligner().align([[5, 6, 2]], [[7, 2]])
    assert found[0].shape == (2, 3)
    write_bundle(tmp_path, *rest)
    assert not (tmp_path / ALIGNER).exists()
    with pytest.raises(ConfigError, match="has no aligner.onnx, which alignments need: export"):
        Bundle.open(tmp_path).aligner()


@pytest.fixture(scope="module")
def shipped() -> Bundle:
    return Bundle.open(BUNDLE)


PAIRS = (
    ("Tom doesn't live in Boston anymore.", "Tom wohnt nicht mehr in Boston."),
    ("My father bought this house in 1995.", "Mein Vater hat dieses Haus 1995 gekauft."),
    ("The children are playing in the garden.", "Die Kinder spielen im Garten."),
)


def test_the_shipped_one_is_pytorchs(shipped: Bundle) -> None:
    model, text = torch_transformer(shipped), shipped.text_processor()
    [note] = onnx.load(BUNDLE / ALIGNER).metadata_props
    [heads] = [heads for heads in candidates(model.config) if str(heads) == note.value]
    pairs = [WordPair.of(text, *pair) for pair in PAIRS]
    sides = ([pair.source for pair in pairs], [pair.target for pair in pairs])
    found = shipped.aligner().align(*sides)
    expected = map(heads.of, cross_attentions(model, *sides))
    for pair, one, wanted in zip(pairs, found, expected, strict=True):
        np.testing.assert_allclose(one, wanted, atol=2e-3)
        assert links_of(pair.between(one)) == links_of(pair.between(wanted))


def test_the_shipped_one_finds_names_numbers_and_words(shipped: Bundle) -> None:
    text = shipped.text_processor()
    found: set[tuple[str, str]] = set()
    for source, target in PAIRS:
        ids, spans = text.encode_spans(source)
        target_ids = text.encode(target)
        decoded, target_spans = text.decode_spans(target_ids)
        [attention] = shipped.aligner().align([ids], [target_ids])
        for link in word_links(attention, Pieces(source, spans), Pieces(decoded, target_spans)):
            one = source[link.source_start : link.source_end]
            found.add((one, target[link.target_start : link.target_end]))
    wanted = {("Tom", "Tom"), ("Boston", "Boston"), ("1995", "1995"), ("house", "Haus")}
    assert wanted | {("children", "Kinder"), ("garden", "Garten")} <= found
