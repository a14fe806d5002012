"""Augmentation changes both sides alike, and the same way for the same seed."""

from __future__ import annotations

import collections
import dataclasses
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.data.augmentation import noise, numbers
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
    config = AugmentationConfig(
        symbols=0.5, numbers=0.5, lowercase=0.2, endings=0.2, quotes=0.2, quoted=0.2
    )
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
    source, target = numbers.renumbered("In 1995, 12 men", "1995 waren 12 Männer", draw)
    found = re.findall(r"\d+", source)
    assert sorted(found) == sorted(re.findall(r"\d+", target))
    assert found != ["1995", "12"]
    source, target = noise.requoted('He said "no".', "Er sagte „nein“.", draw)
    assert re.fullmatch("He said .no.[.]", source)
    assert target == "Er sagte „nein“."
    source, target = noise.quoted("No.", "Nein.", noise.usual_quotes(["x", "„a“ «b"]), draw)
    assert source[1:-1] == "No."
    assert target == "„Nein.“"


def test_numbers_with_points_and_commas_are_left_alone() -> None:
    pair = ("1,250.5 km in 3.5 h", "1.250,5 km in 3,5 h")
    assert numbers.renumbered(*pair, random.Random(0)) == pair


SHARES = [f.name for f in dataclasses.fields(AugmentationConfig) if f.name != "number_words"]


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_out_of_range_is_refused(name: str, share: float) -> None:
    with pytest.raises(ConfigError, match=rf"augmentation\.{name} must be from 0 to 1"):
        dataclasses.replace(AugmentationConfig(), **{name: share})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["symbols", "hidden"])
def test_symbols_need_a_vocabulary_that_has_them(corpus: Corpus, name: str) -> None:
    config = dataclasses.replace(AugmentationConfig(), **{name: 0.1})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=rf"{name} needs vocabulary\.placeholders"):
        Augmenter(corpus, config, [], seed=0)


# Numbers

NUMBER_WORDS = {"two": "zwei", "three": "drei", "ten": "zehn"}


def test_number_words_become_the_same_figures() -> None:
    pair = ("Two men ate three eggs, three times", "Zwei Männer aßen drei Eier")
    for seed in range(20):
        source, target = numbers.counted(*pair, NUMBER_WORDS, random.Random(seed))
        (figures,) = re.findall(r"\d+", source)
        assert int(figures) >= 2
        assert source == f"{figures} men ate three eggs, three times"
        assert target == f"{figures} Männer aßen drei Eier"


@given(seed=st.integers(0, 10_000))
def test_numbers_of_the_same_figures_become_symbols(seed: int) -> None:
    pair = (
        "On May 24th 1,250 men (16-years-old) left at 7:30: A4",
        "Am 24. Mai 1.250, 16, 7.30 A4",
    )
    source, target = numbers.hidden(*pair, SYMBOLS, random.Random(seed))
    day, men, age, time = SYMBOL.findall(source)
    assert source == f"On May {day}th {men} men ({age}-years-old) left at {time}: A4"
    assert target == f"Am {day}. Mai {men}, {age}, {time} A4"
    assert len({day, men, age, time}) == 4


def test_symbols_that_are_there_are_kept_and_not_used_again() -> None:
    pair = (" ".join(SYMBOLS[:19]) + " 5 7", "7 5 " + " ".join(SYMBOLS[:19]))
    source, target = numbers.hidden(*pair, SYMBOLS, random.Random(0))
    assert source == " ".join([*SYMBOLS, "7"])
    assert target == " ".join(["7", SYMBOLS[19], *SYMBOLS[:19]])


def test_pairs_with_numbers_are_repeated(corpus: Corpus) -> None:
    pairs = Corpus([*["no number"] * 200, "ten men"], [*["keine Zahl"] * 200, "zehn Männer"])
    config = AugmentationConfig(repeated=0.5, number_words=NUMBER_WORDS)
    changed = Augmenter(pairs, config, SYMBOLS, seed=1).corpus(0)
    assert 70 < changed.source.count("ten men") < 130
    assert changed.target.count("zehn Männer") == changed.source.count("ten men")
    with pytest.raises(ConfigError, match="no pair of the corpus has a number"):
        Augmenter(Corpus(["a"], ["b"]), config, SYMBOLS, seed=1)


def test_counting_needs_number_words() -> None:
    with pytest.raises(ConfigError, match=r"needs augmentation\.number_words"):
        AugmentationConfig(counted=0.5)
    with pytest.raises(ConfigError, match="number_words must map words to words"):
        AugmentationConfig(number_words={"two": 2})  # type: ignore[dict-item]
