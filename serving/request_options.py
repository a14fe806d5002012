"""What a request asks for: the same on the command line, in the client and in the server."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from serving.errors import RequestError
from serving.options import DETAILS, MOST_ENTRIES, RANGES, TEXT_FORMATS, check_number

LISTS, MAPPINGS = ("suppress", "protect", "return"), ("glossary",)
"""Options that are more than one value."""

Detail = Literal["scores", "token_scores", "alignments", "timings"]


class OptionValues(TypedDict, total=False):
    """The keyword arguments of a client's verbs; see `Options`."""

    beam_size: int | None
    length_penalty: float | None
    n_best: int | None
    min_length: int | None
    max_length: int | None
    repetition_penalty: float | None
    no_repeat_ngram_size: int | None
    suppress: Sequence[str] | None
    prefix: str | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None
    format: Literal["text", "html"] | None
    glossary: Mapping[str, str] | None
    protect: Sequence[str] | None
    return_: Sequence[Detail] | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options of one request; None leaves one to the server, which has the defaults.

    Attributes:
        beam_size: hypotheses kept per step; 1 is greedy search.
        length_penalty: more favours long output; 0 compares plain log-probabilities.
        n_best: translations of each text, at most `beam_size`.
        min_length: tokens that a sentence's translation has at least.
        max_length: tokens that it has at most.
        repetition_penalty: 1 is none; more makes a token that has been used less likely.
        no_repeat_ngram_size: no run of that many tokens comes twice; 0 allows it.
        suppress: words or pieces that never appear.
        prefix: text with which the translation begins.
        temperature: above 0 draws at random instead of searching.
        top_k: candidates that are drawn from.
        top_p: draws from the likeliest candidates that together have this probability.
        seed: makes a random draw repeatable.
        format: "text" or "html" (which serves XML as well).
        glossary: terms and how each is translated.
        protect: terms, or regular expressions written /like this/, that stay as they are.
        return_: what `Result.details` is to hold; "return" on the wire.

    Raises:
        RequestError: a value has the wrong type or is out of its range; the message names both.
    """

    beam_size: int | None = None
    length_penalty: float | None = None
    n_best: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    repetition_penalty: float | None = None
    no_repeat_ngram_size: int | None = None
    suppress: Sequence[str] | None = None
    prefix: str | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    format: Literal["text", "html"] | None = None
    glossary: Mapping[str, str] | None = None
    protect: Sequence[str] | None = None
    return_: Sequence[Detail] | None = None

    def __post_init__(self) -> None:
        for name, value in self.given().items():
            _check(name, value)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Options:
        """Options from keyword arguments.

        Raises:
            RequestError: a name is unknown; the message names the one that was meant.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        for name in values:
            if name not in known:
                raise RequestError(f"unknown option {name!r}; {_hint(name, known)}")
        return cls(**values)

    def given(self) -> dict[str, Any]:
        """The options that are set, by the names that the server has for them."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name.rstrip("_"): value for name, value in values.items() if value is not None}


def _hint(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]!r}?" if near else f"known options: {', '.join(known)}"


def _check(name: str, value: Any) -> None:
    if name in RANGES:
        check_number(name, value)
    elif name == "prefix":
        check_text(name, value)
    elif name == "format":
        _check_choice(name, value, TEXT_FORMATS)
    else:
        _check_entries(name, value)


def check_text(name: str, value: Any) -> None:
    """Raise RequestError unless `value` is a text that can be sent."""
    if not isinstance(value, str):
        raise RequestError(f"{name} must be a text, not {value!r}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RequestError(
            f"{name} is no valid Unicode: half a character at {error.start}"
        ) from error


def _check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    if value not in choices:
        raise RequestError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def _check_entries(name: str, value: Any) -> None:
    if name == "glossary":
        if not isinstance(value, Mapping):
            raise RequestError(f"{name} must map terms to their translations, not be {value!r}")
        entries = [*value, *value.values()]
    elif isinstance(value, str) or not isinstance(value, Sequence):
        raise RequestError(f"{name} must be a list of texts, not {value!r}")
    else:
        entries = list(value)
    for entry in entries:
        check_text(f"an entry of {name}", entry)
        if name == "return":
            _check_choice(f"an entry of {name}", entry, DETAILS)
    most = MOST_ENTRIES.get(name)
    if most is not None and len(value) > most:
        raise RequestError(f"{name} may have {most} entries, not {len(value)}")
