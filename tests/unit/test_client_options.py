"""Options as a client checks them, and when it tries again: without any server."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.client.attempts import Attempts
from serving.client.errors import UnreachableError
from serving.errors import DeadlineError, OverloadError, RequestError
from serving.options import RANGES, DecodingOptions
from serving.request_options import Options, OptionValues


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beam_size": "4"}, "beam_size must be an integer, not '4'"),
        ({"beam_size": True}, "beam_size must be an integer, not True"),
        ({"beam_size": 9}, "beam_size must be from 1 to 8, not 9"),
        ({"length_penalty": "x"}, "length_penalty must be a number"),
        ({"length_penalty": math.nan}, "length_penalty must be from 0 to 10, not nan"),
        ({"top_p": 0}, "top_p must be above 0 up to 1, not 0"),
        ({"seed": 2**63}, "seed must be from 0 to 9223372036854775807"),
        ({"prefix": 3}, "prefix must be a text"),
        ({"format": "xml"}, "format must be one of text, html, not 'xml'"),
        ({"suppress": "word"}, "suppress must be a list of texts, not 'word'"),
        ({"protect": ["a"] * 101}, "protect may have 100 entries, not 101"),
        ({"protect": [1]}, "an entry of protect must be a text, not 1"),
        ({"glossary": ["a"]}, "glossary must map terms"),
        ({"glossary": {"a": 1}}, "an entry of glossary must be a text, not 1"),
        ({"return_": ["sores"]}, "an entry of return must be one of scores"),
        ({"colour": 1}, "unknown option 'colour'; known options: beam_size"),
        ({"n_bset": 1}, "unknown option 'n_bset'; did you mean 'n_best'?"),
    ],
)
def test_a_wrong_option_is_told(values: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        Options.of(values)


def test_only_what_is_set_is_given() -> None:
    assert Options().given() == {}
    assert Options(min_length=0, return_=["scores"]).given() == {
        "min_length": 0,
        "return": ["scores"],
    }


def test_keyword_arguments_are_the_options() -> None:
    fields = [field.name for field in dataclasses.fields(Options)]
    assert list(get_type_hints(OptionValues)) == fields
    assert get_type_hints(OptionValues) == get_type_hints(Options)


@settings(deadline=None)
@given(st.sampled_from(["beam_size", "length_penalty"]), st.integers(-2, 12))
def test_ranges_are_those_of_the_search(name: str, value: int) -> None:
    try:
        DecodingOptions(**{name: value})  # type: ignore[arg-type]
    except RequestError:
        assert value not in RANGES[name]
    else:
        assert value in RANGES[name]


class Clock:
    """Time that passes only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def pauses(error: Exception, timeout: float, patience: float, draw: float) -> list[float]:
    clock = Clock()
    attempts = Attempts(timeout, patience, clock, lambda: draw)
    found = []
    while True:
        try:
            found.append(attempts.pause(error))
        except type(error):
            return found
        clock.now += found[-1]


def test_pauses_double_up_to_four_seconds() -> None:
    assert pauses(OverloadError("x"), 20, 1, 1.0) == [0.25, 0.5, 1, 2, 4, 4, 4, 4]


@settings(deadline=None)
@given(st.floats(0.1, 100), st.floats(0, 100), st.floats(0, 1))
def test_attempts_keep_within_their_time(timeout: float, patience: float, draw: float) -> None:
    assert sum(pauses(OverloadError("x"), timeout, patience, draw)) < timeout
    away = sum(pauses(UnreachableError("x"), timeout, patience, draw))
    assert away < min(timeout, patience) or away == 0
    assert pauses(RequestError("x"), timeout, patience, draw) == []


@pytest.mark.parametrize(("worked", "told"), [(0.5, OverloadError), (2.0, DeadlineError)])
def test_the_cause_of_a_late_answer_is_told(worked: float, told: type[Exception]) -> None:
    clock = Clock()
    attempts = Attempts(10, 1, clock, lambda: 1.0)
    clock.now += attempts.pause(OverloadError("refused"))
    clock.now += worked
    with pytest.raises(told):
        attempts.pause(DeadlineError("late"))
