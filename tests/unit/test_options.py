"""Every option has a range, and its refusal names it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from serving.errors import RequestError
from serving.options import DecodingOptions

REFUSED: list[tuple[str, Any, str]] = [
    ("beam_size", 0, "beam_size must be from 1 to 8, not 0"),
    ("beam_size", 4.0, "beam_size must be an integer"),
    ("length_penalty", -0.1, "length_penalty must be from 0 to 10"),
    ("length_penalty", "1", "length_penalty must be a number"),
    ("n_best", 5, r"n_best must be from 1 to beam_size \(4\), not 5"),
    ("min_length", -1, "min_length must be from 0 to 1000, not -1"),
    ("min_length", 1001, "min_length must be from 0 to 1000"),
    ("max_length", 0, "max_length must be from 1 to 1050, not 0"),
    ("max_length", 1051, "max_length must be from 1 to 1050"),
    ("max_length", True, "max_length must be an integer"),
    ("repetition_penalty", 0.9, "repetition_penalty must be from 1 to 10, not 0.9"),
    ("repetition_penalty", float("nan"), "repetition_penalty must be from 1 to 10"),
    ("no_repeat_ngram_size", 101, "no_repeat_ngram_size must be from 0 to 100"),
    ("no_repeat_ngram_size", -1, "no_repeat_ngram_size must be from 0 to 100"),
    ("suppress", ((),), "suppress must be at most 1000 sequences of 1 to 1000 tokens"),
    ("suppress", ((3, -1),), "suppress must be"),
    ("suppress", "words", "suppress must be"),
    ("suppress", ((3,),) * 1001, "suppress must be at most 1000"),
    ("temperature", -1, "temperature must be from 0 to 10"),
    ("temperature", 10.5, "temperature must be from 0 to 10"),
    ("top_k", 0, "top_k must be from 1 to 16"),
    ("top_k", 17, "top_k must be from 1 to 16"),
    ("top_p", 0, "top_p must be above 0 up to 1"),
    ("top_p", 1.1, "top_p must be above 0 up to 1"),
    ("seed", -1, "seed must be from 0 to 9223372036854775807"),
    ("seed", 2**63, "seed must be from 0 to"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSED)
def test_a_value_out_of_its_range_is_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        DecodingOptions.from_mapping({name: value})


def test_every_option_has_a_refusal() -> None:
    names = {field.name for field in dataclasses.fields(DecodingOptions)}
    assert names == {name for name, _, _ in REFUSED}


def test_the_ends_of_the_ranges_are_allowed() -> None:
    least = DecodingOptions(1, 0, 1, 0, 1, 1, 0, (), 0, 1, 1e-9, 0)
    most = DecodingOptions(8, 10, 8, 1000, 1050, 10, 100, ((5,),), 10, 16, 1, 2**63 - 1)
    assert (least.rows, most.rows) == (1, 8)


def test_a_least_length_beyond_the_longest_is_refused() -> None:
    with pytest.raises(RequestError, match=r"min_length must be at most max_length \(5\), not 6"):
        DecodingOptions(min_length=6, max_length=5)


def test_only_drawing_without_a_seed_gets_one() -> None:
    assert DecodingOptions().seeded() == DecodingOptions()
    fixed = DecodingOptions(temperature=1.0, seed=7)
    assert fixed.seeded() == fixed
    anew = DecodingOptions(temperature=1.0)
    assert anew.seeded().seed != anew.seeded().seed
    assert DecodingOptions(beam_size=8, n_best=3, temperature=1.0).rows == 3
