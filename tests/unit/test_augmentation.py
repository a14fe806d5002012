"""Augmentation changes both sides alike, and the same way for the same seed."""

from __future__ import annotations

import collections
import dataclasses
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.data.augmentation import noise
from model.data.augmentation.anchors import Anchors
from model.data.augmentation.augmenter import Augmenter
from model.data.augmentation.config import AugmentationConfig
from model.data.augmentation.symbols import plant
from model.data.corpus import Corpus
from model.data.vocabulary import placeholder
from serving.errors import ConfigError

SYMBOLS = [placeholder(i) for i in range(20)]
SYMBOL = re.compile("⟦[0-9]+⟧")

NOUNS = {"house": "Haus", "tree": "Baum", "dog": "Hund", "cat": "Katze", "ship": "Schiff"}
COLOURS = {"red": "rot", "green": "grün", "old": "alt", "small": "klein"}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    pairs = [
        (f"the {n} of {who} is {c}", f"das {m} von {who} ist {d}")
        for n, m in NOUNS.items()
        for c, d in COLOURS.items()
        for who in ("Anna", "Tom", "1995")
    ]
    return Corpus([s for s, _ in pairs], [t for _, t in pairs])


@pytest.fixture(scope="module")
def anchors(corpus: Corpus) -> Anchors:
    learned = Anchors.learn(corpus)
    return Anchors(learned._translation, frozenset({"the", "das", "is", "ist", "of", "von"}))


def test_anchors_are_the_words_that_translate_each_other(anchors: Anchors) -> None:
    source, target = "the ship of Anna is green", "das Schiff von Anna ist grün"
    found = {source[slice(*a.source)]: target[slice(*a.target)] for a in anchors.of(source, target)}
    assert found == {"ship": "Schiff", "Anna": "Anna", "green": "grün"}


def test_a_word_that_stands_twice_is_no_anchor(anchors: Anchors) -> None:
    assert anchors.of("Anna sees Anna", "Anna sieht Anna") == []


def test_genitives_keep_their_endings() -> None:
    always = Anchors({"Anna's": "Annas"}, frozenset())
    seen = [
        plant(("on Anna's ship", "auf Annas Schiff"), always, SYMBOLS, random.Random(seed))
        for seed in range(30)
    ]
    assert any(
        re.search("on ⟦[0-9]+⟧'s ship", s) and re.search("⟦[0-9]+⟧s Schiff", t) for s, t in seen
    )


words = st.lists(st.sampled_from([*NOUNS, *COLOURS, "Anna", "1995", "the", "“x”"]), max_size=8)


@given(words=words, seed=st.integers(0, 10_000), ending=st.sampled_from(["", ".", "?!", "…"]))
def test_both_sides_have_the_same_symbols_once(
    anchors: Anchors, words: list[str], seed: int, ending: str
) -> None:
    known = {**NOUNS, **COLOURS}
    source = " ".join(words) + ending
    target = " ".join(known.get(word, word) for word in words) + ending
    planted = plant((source, target), anchors, SYMBOLS, random.Random(seed))
    ours, theirs = (SYMBOL.findall(side) for side in planted)
    assert ours
    assert collections.Counter(ours) == collections.Counter(theirs)
    assert set(ours) <= set(SYMBOLS)


def test_an_epoch_is_the_same_for_the_same_seed_and_differs_from_the_next(corpus: Corpus) -> None:
    config = AugmentationConfig(0.5, 0.5, 0.2, 0.2, 0.2, 0.2)
    one, other = (Augmenter(corpus, config, SYMBOLS, seed=3) for _ in range(2))
    assert one.corpus(5) == other.corpus(5)
    assert one.corpus(5) != one.corpus(6)
    assert len(one.corpus(0)) == len(corpus)


def test_shares_are_kept(corpus: Corpus) -> None:
    large = Corpus(corpus.source * 50, corpus.target * 50)
    config = AugmentationConfig(symbols=0.25, quoted=0.1)
    changed = Augmenter(large, config, SYMBOLS, seed=1).corpus(0).source
    assert sum("⟦" in line for line in changed) / len(changed) == pytest.approx(0.25, abs=0.03)
    quoted = sum(line[0] in "\"'„“«" for line in changed)
    assert quoted / len(changed) == pytest.approx(0.1, abs=0.03)


def test_noise_changes_what_it_says() -> None:
    draw = random.Random(0)
    assert noise.without_ending("Is it?", "Ist es?") == ("Is it", "Ist es")
    assert noise.lowercase("In Rome.", "In Rom.") == ("in rome.", "In Rom.")
    source, target = noise.renumbered("In 1995, 12 men", "1995 waren 12 Männer", draw)
    numbers = re.findall(r"\d+", source)
    assert sorted(numbers) == sorted(re.findall(r"\d+", target))
    assert numbers != ["1995", "12"]
    source, target = noise.requoted('He said "no".', "Er sagte „nein“.", draw)
    assert re.fullmatch("He said .no.[.]", source)
    assert target == "Er sagte „nein“."
    source, target = noise.quoted("No.", "Nein.", noise.usual_quotes(["x", "„a“ «b"]), draw)
    assert source[1:-1] == "No."
    assert target == "„Nein.“"


def test_numbers_with_points_and_commas_are_left_alone() -> None:
    pair = ("1,250.5 km in 3.5 h", "1.250,5 km in 3,5 h")
    assert noise.renumbered(*pair, random.Random(0)) == pair


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(AugmentationConfig)])
@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_out_of_range_is_refused(name: str, share: float) -> None:
    with pytest.raises(ConfigError, match=rf"augmentation\.{name} must be from 0 to 1"):
        AugmentationConfig(**{name: share})


def test_symbols_need_a_vocabulary_that_has_them(corpus: Corpus) -> None:
    with pytest.raises(ConfigError, match=r"vocabulary\.placeholders"):
        Augmenter(corpus, AugmentationConfig(symbols=0.1), [], seed=0)
