"""Links between words: from attention between pieces, and from statistics alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.aligner import selection
from export.aligner.heads import Heads, candidates, parse
from model.config import ModelConfig
from model.diagonal import ITERATIONS, Silver, silver_links
from model.transformer import Transformer
from model.word_pairs import Agreement, WordPair
from serving.alignment import Link, Pieces, mutual_best, word_attention, word_links
from serving.errors import ConfigError
from serving.words import Span, words


def pieces(text: str, size: int = 3) -> Pieces:
    """Every word in pieces of at most `size` characters, then EOS."""
    spans = [
        Span(place, min(place + size, end))
        for start, end in words(text)
        for place in range(start, end, size)
    ]
    return Pieces(text, [*spans, Span(len(text), len(text))])


def texts(links: list[Link], source: str, target: str) -> list[tuple[str, str]]:
    return [
        (source[link.source_start : link.source_end], target[link.target_start : link.target_end])
        for link in links
    ]


def test_a_word_has_the_attention_of_all_its_pieces() -> None:
    attention = np.array([[0.3, 0.3, 0.4, 0.0], [0.1, 0.3, 0.5, 0.1], [0.0, 0.0, 0.0, 1.0]])
    columns, rows = np.array([0, 0, 1, -1]), np.array([0, 0, -1])
    found = word_attention(attention, columns, rows, (1, 2))
    np.testing.assert_allclose(found, [[0.5, 0.45]])


def test_words_are_linked_where_each_is_the_others_best() -> None:
    between = np.array([[0.6, 0.3, 0.1], [0.9, 0.0, 0.1], [0.0, 0.4, 0.5]])
    assert mutual_best(between) == {1: 0, 2: 2}
    assert mutual_best(np.zeros((2, 2))) == {}
    assert mutual_best(np.zeros((0, 3))) == mutual_best(np.zeros((3, 0))) == {}


def test_links_are_spans_of_both_texts() -> None:
    source, target = "the children sing.", "Kinder singen!"
    attention = np.zeros((6, 8))  # Kin der sin gen ! EOS; the chi ldr en sin g . EOS
    for row, column in ((0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 7)):
        attention[row, column] = 0.5
    found = word_links(attention, pieces(source), pieces(target))
    expected = [("children", "Kinder"), ("sing", "singen"), (".", "!")]
    assert texts(found, source, target) == expected


def test_reserved_symbols_are_linked_to_themselves_wherever_the_model_looked() -> None:
    source, target = "\u27e60\u27e7 eats \u27e61\u27e7", "\u27e61\u27e7 frisst \u27e60\u27e7"
    looked = np.eye(4)  # each symbol at the other, and the verb at the verb
    found = word_links(looked, pieces(source, 9), pieces(target, 9))
    assert texts(found, source, target) == [
        ("\u27e61\u27e7", "\u27e61\u27e7"),
        ("eats", "frisst"),
        ("\u27e60\u27e7", "\u27e60\u27e7"),
    ]
    looked = np.roll(np.eye(4), 1, axis=1)  # the verb at a symbol
    found = word_links(looked, pieces(source, 9), pieces(target, 9))
    assert ("eats", "frisst") not in texts(found, source, target)
    assert len(found) == 2


def test_equal_symbols_are_linked_in_their_order() -> None:
    text = "\u27e60\u27e7 \u27e60\u27e7"
    found = word_links(np.zeros((4, 3)), pieces(text), pieces(text + " \u27e60\u27e7"))
    assert found == [Link(0, 3, 0, 3), Link(4, 7, 4, 7)]


@given(
    st.text("ab. \u27e61\u27e7", max_size=20),
    st.text("xy! \u27e61\u27e7", max_size=20),
    st.integers(0, 99),
)
def test_links_of_any_attention(source: str, target: str, seed: int) -> None:
    sides = pieces(source), pieces(target)
    shape = (len(sides[1].spans), len(sides[0].spans))
    found = word_links(np.random.default_rng(seed).random(shape), *sides)
    source_words, target_words = words(source), words(target)
    assert {Span(link.source_start, link.source_end) for link in found} <= set(source_words)
    assert {Span(link.target_start, link.target_end) for link in found} <= set(target_words)
    assert len({link.source_start for link in found}) == len(found)
    assert [link.target_start for link in found] == sorted({link.target_start for link in found})
    for one, other in texts(found, source, target):
        assert ("\u27e6" in one and one[1:-1] == "1") == ("\u27e6" in other and other[1:-1] == "1")


def test_statistics_find_the_words_of_a_made_up_language() -> None:
    random = np.random.default_rng(5)
    sources, targets, expected = [], [], []
    for _ in range(300):
        words_of_it = random.choice(20, 5, replace=False).tolist()
        order = [1, 0, 2, 4, 3]  # neighbours change places
        sources.append([f"s{word}" for word in words_of_it])
        targets.append([*(f"t{words_of_it[place]}" for place in order), "ja"])
        expected.append({(place, row) for row, place in enumerate(order)})
    calls: list[None] = []
    found = silver_links(sources, targets, 300, lambda: calls.append(None))
    assert len(calls) == 2 * ITERATIONS
    agreement = Agreement.of(expected, found)
    assert agreement.recall > 0.95
    assert agreement.precision > 0.95
    assert all(one.sure <= one.possible for one in found)


def test_statistics_take_empty_sentences() -> None:
    found = silver_links([["a"], [], ["a"]], [["b"], ["b"], []], 3, lambda: None)
    assert found[0].sure == {(0, 0)}
    assert found[1].possible == found[2].possible == set()
    assert silver_links([[]], [[]], 1, lambda: None) == [Silver(set(), set())]
    assert silver_links([], [], 0, lambda: None) == []


def test_error_rate_written_out() -> None:
    silver = [Silver({(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 1)})]
    found = Agreement.of([{(0, 0), (2, 1), (3, 3)}], silver)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(1 / 2)
    assert found.error_rate == pytest.approx(1 - (1 + 2) / (3 + 2))
    assert Agreement.of([], []).error_rate == 1


CONFIG = ModelConfig(decoder_layers=2, heads=4)


def test_heads_take_their_rows() -> None:
    weights = np.arange(2 * 4 * 3 * 2, dtype=np.float32).reshape(2, 4, 3, 2)
    predicting, reading = parse("2:3", CONFIG)
    np.testing.assert_array_equal(predicting.of(weights), weights[1, 2, :2])
    np.testing.assert_array_equal(reading.of(weights), weights[1, 2, 1:])
    whole = Heads(0, (0, 1, 2, 3), False)
    np.testing.assert_allclose(whole.of(weights), weights[0, :, :2].mean(axis=0))
    assert str(whole) == "layer 1, heads 1, 2, 3, 4, predicting"


def test_candidates_are_all_layers_and_heads() -> None:
    found = list(candidates(CONFIG))
    assert len(found) == len(set(found)) == 2 * 5 * 2
    assert set(parse("1", CONFIG)) | set(parse("2:4", CONFIG)) <= set(found)


@pytest.mark.parametrize("wrong", ["0", "3", "x", "", "1:0", "1:5", "-1", "all"])
def test_layers_that_are_not_there_are_named(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"1 to (2|4)"):
        parse(wrong, CONFIG)


PLANTED = Heads(1, (2,), True)


def test_heads_are_chosen_that_follow_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics tell it from 80 made-up pairs; all other heads look anywhere."""
    random = np.random.default_rng(8)
    pairs, weights = [], []
    for _ in range(80):
        order = random.permutation(4)
        chosen = random.choice(25, 4, replace=False)
        places = np.array([*range(4), -1])
        sides = ([f"s{word}" for word in chosen], [f"t{word}" for word in chosen[order]])
        pairs.append(WordPair([5] * 5, [6] * 5, *sides, places, places))
        shown = random.random((2, 4, 6, 5), dtype=np.float32)
        shown[1, 2, 1 + np.arange(4), order] = 2.0
        weights.append(shown)
    monkeypatch.setattr(selection, "cross_attentions", lambda *_: iter(weights))
    model = Transformer(ModelConfig(vocab_size=9, d_model=8, d_ff=8, heads=4, decoder_layers=2))
    found, agreement = selection.choose_heads(model, pairs)
    assert found == PLANTED
    assert agreement.error_rate < 0.2
    others = parse("1", model.config)
    assert selection.choose_heads(model, pairs, others)[0] in others


def test_without_sentences_the_last_layer_but_one_aligns() -> None:
    model = Transformer(ModelConfig(vocab_size=9, d_model=8, d_ff=8, heads=4, decoder_layers=3))
    every = (0, 1, 2, 3)
    assert selection.choose_heads(model, [])[0] == Heads(1, every, False)
    assert selection.choose_heads(model, [], parse("1:2", model.config))[0] == Heads(0, (1,), False)
