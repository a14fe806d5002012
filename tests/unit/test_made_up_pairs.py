"""Joined clauses, marked words and made-up names are the same on both sides of a pair."""

from __future__ import annotations

import collections
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.data.augmentation.anchors import WORD, Anchors
from model.data.augmentation.augmenter import Augmenter
from model.data.augmentation.clauses import Casing, inserted, joined, marked
from model.data.augmentation.config import AugmentationConfig
from model.data.augmentation.names import label, made_up, renamed
from model.data.augmentation.noise import Pair
from model.data.augmentation.symbols import plant
from model.data.corpus import Corpus
from model.data.vocabulary import placeholder

WORDS = {"house": "Haus", "tree": "Baum", "red": "rot", "the": "das", "Anna": "Anna", "Tom": "Tom"}
ANCHORS = Anchors(WORDS, frozenset({"the", "das"}))
CASINGS = (
    Casing(["All the house and red tree of Anna"]),
    Casing(["Nur das Haus und rot der Baum von Anna"]),
)

seeds = st.integers(0, 100_000)


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    words = draw(st.lists(st.sampled_from(sorted(WORDS)), min_size=1, max_size=7))
    mark = draw(st.sampled_from(["", ".", "?", "!!", "…"]))
    sides = " ".join(words), " ".join(WORDS[word] for word in words)
    return sides[0][0].upper() + sides[0][1:] + mark, sides[1][0].upper() + sides[1][1:] + mark


def bag(text: str) -> collections.Counter[str]:
    return collections.Counter(word.lower() for word in WORD.findall(text))


def signs(text: str) -> collections.Counter[str]:
    return collections.Counter(re.findall(r"[^\w\s]", text))


@given(one=pairs(), other=pairs(), seed=seeds)
@pytest.mark.parametrize("within", [False, True])
def test_two_pairs_in_one_lose_no_word(one: Pair, other: Pair, seed: int, within: bool) -> None:
    draw = random.Random(seed)
    if within:
        both = inserted(one, other, ANCHORS, CASINGS, draw)
    else:
        both = joined(one, other, CASINGS, draw)
    for side, first, second in zip(both, one, other, strict=True):
        assert bag(side) == bag(first) + bag(second)
    assert signs(both[0]) == signs(both[1])


def test_the_second_clause_is_small_where_its_first_word_is_no_name() -> None:
    small = CASINGS[0].lowered
    assert small("The house.") == "the house."
    assert small("Anna has it.") == "Anna has it."
    assert small("Unknown.") == "Unknown."
    assert small("") == ""
    assert CASINGS[1].lowered("Haus und Baum") == "Haus und Baum"


@given(pair=pairs(), seed=seeds)
def test_a_marked_word_is_marked_on_both_sides(pair: Pair, seed: int) -> None:
    sides = marked(pair, ANCHORS, "„“", random.Random(seed))
    plain = [re.sub(r"[\[\]()*_\"'„“”«»]", "", side) for side in sides]
    assert plain == list(pair)
    inside = [re.findall(r"[\[(*_\"'„“”«]([^\W_]+)[\])*_\"'“”»]", side) for side in sides]
    assert [len(words) for words in inside] == [1 if ANCHORS.of(*pair) else 0] * 2
    assert [WORDS[word] for word in inside[0]] == inside[1]


@given(pair=pairs(), seed=seeds)
def test_names_are_others_on_both_sides_and_all_else_stays(pair: Pair, seed: int) -> None:
    source, target = renamed(pair, ANCHORS, random.Random(seed))
    for name in ("Anna", "Tom"):
        once = pair[0].count(name) == 1
        assert (name in source, name in target) == ((name in pair[0]) and not once,) * 2
    stays = {word for word in WORD.findall(pair[0]) if word not in ("Anna", "Tom")}
    assert stays <= set(WORD.findall(source))


def test_a_made_up_name_takes_the_genitive() -> None:
    anchors = Anchors({"Anna's": "Annas"}, frozenset())
    for seed in range(50):
        pair = renamed(("Anna's house", "Annas Haus"), anchors, random.Random(seed))
        assert re.fullmatch(r"(.+)'s house", pair[0])[1] == re.fullmatch(r"(.+)s Haus", pair[1])[1]  # type: ignore[index]


def test_made_up_names_are_of_many_letters() -> None:
    draw = random.Random(1)
    names = [made_up(draw) for _ in range(5000)]
    assert all(name.isalpha() and name[0].isupper() for name in names)
    assert len(set(names)) > 3000
    beyond = sum(not name.isascii() for name in names)
    assert 0.15 < beyond / len(names) < 0.35
    assert {"é", "ñ", "ø", "Å"} <= set("".join(names))
    labels = "".join(label(draw) for _ in range(500))
    assert set("/&+=#@_%-") <= set(labels)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 20])
@given(pair=pairs(), seed=seeds)
def test_few_symbols_are_enough(count: int, pair: Pair, seed: int) -> None:
    symbols = [placeholder(i) for i in range(count)]
    planted = plant(pair, ANCHORS, symbols, random.Random(seed))
    ours, theirs = (collections.Counter(re.findall("⟦[0-9]+⟧", side)) for side in planted)
    assert ours == theirs
    assert ours


@pytest.mark.parametrize(
    ("config", "sign"),
    [
        (AugmentationConfig(joined=0.3), r"[;–:/(\[,]"),
        (AugmentationConfig(marked=0.3), "[\\[(*_\"'„“”«]"),
        (AugmentationConfig(names=0.3), r"^(?!(Anna|Tom)\b)"),
    ],
)
def test_a_share_is_that_of_pairs(config: AugmentationConfig, sign: str) -> None:
    lines = [
        (f"{name} sees {place} trees", f"{name} sieht {place} Bäume")
        for place in range(1000)
        for name in ("Anna", "Tom")
    ]
    corpus = Corpus([one for one, _ in lines], [other for _, other in lines])
    changed = Augmenter(corpus, config, [], seed=1).corpus(0)
    share = sum(bool(re.search(sign, line)) for line in changed.source) / len(corpus)
    assert share == pytest.approx(0.3, abs=0.04)
