"""What is told of options: all of them, with their true ranges and defaults."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from serving.errors import RequestError
from serving.option_help import MEANINGS, allowed, config_lines, default
from serving.options import MOST_ENTRIES, RANGES, DecodingOptions
from serving.request_options import Options

CONFIG = Path(__file__).resolve().parents[2] / "model_repository/translate/config.pbtxt"


def test_every_option_is_told() -> None:
    names = [field.name.rstrip("_") for field in dataclasses.fields(Options)]
    assert sorted(MEANINGS) == sorted(names)


def test_the_served_configuration_tells_them_all() -> None:
    told = [line for line in CONFIG.read_text().splitlines() if line.startswith("parameters")]
    assert told == config_lines()


@pytest.mark.parametrize("name", RANGES)
def test_the_ends_of_a_range_are_allowed_and_no_more(name: str) -> None:
    low, high = RANGES[name].least, RANGES[name].most
    for value in (high, high / 2 if RANGES[name].above else low):
        assert Options.of({name: value if not RANGES[name].whole else int(value)}).given()
    step = 1 if RANGES[name].whole else 0.001
    for value in (low - step, high + step):
        with pytest.raises(RequestError, match=f"{name} must be {RANGES[name]}"):
            Options.of({name: int(value) if RANGES[name].whole else value})
    assert str(RANGES[name]) in allowed(name)


def test_defaults_are_those_of_the_search() -> None:
    told = {name: default(name) for name in RANGES if name not in ("max_length", "seed")}
    assert told == {name: str(getattr(DecodingOptions(), name)) for name in told}


@pytest.mark.parametrize("name", MOST_ENTRIES)
def test_long_lists_are_refused(name: str) -> None:
    most = MOST_ENTRIES[name]
    texts = [f"word{n}" for n in range(most + 1)]
    value = dict.fromkeys(texts, "x") if name == "glossary" else texts
    with pytest.raises(RequestError, match=f"{name} may have {most} entries, not {most + 1}"):
        Options.of({name: value})
