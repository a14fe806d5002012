"""What a request wishes for its text: the format, and what is not to be translated."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import re2

from serving.errors import RequestError
from serving.options import MOST_ENTRIES, TEXT_FORMATS
from serving.text import normalise

MAX_PROTECTED, MAX_GLOSSARY = MOST_ENTRIES["protect"], MOST_ENTRIES["glossary"]
MAX_TERM = 200
"""Characters of a term or of a regular expression."""


@dataclasses.dataclass(frozen=True)
class Wishes:
    """Wishes of one request.

    Attributes:
        format: "text", or "html" for HTML and XML.
        protect: terms, or regular expressions written /like this/, that are kept as they are.
        glossary: source terms and the target terms that must stand for them.

    Raises:
        RequestError: a value is out of its range; the message names the range.
    """

    format: str = "text"
    protect: Sequence[str] = ()
    glossary: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.format not in TEXT_FORMATS:
            raise RequestError(f'format must be "text" or "html", not {self.format!r}')
        protect, glossary = self.protect, self.glossary
        if isinstance(protect, str) or not isinstance(protect, Sequence):
            raise RequestError(f"protect must be a list of texts, not {_short(protect)}")
        if len(protect) > MAX_PROTECTED:
            raise RequestError(f"protect takes up to {MAX_PROTECTED} terms, not {len(protect)}")
        for term in protect:
            _check_term("protect", term)
            if is_expression(term):
                compiled(term)
        if not isinstance(glossary, Mapping):
            raise RequestError(
                f"glossary must map source terms to target terms, not {_short(glossary)}"
            )
        if len(glossary) > MAX_GLOSSARY:
            raise RequestError(f"glossary takes up to {MAX_GLOSSARY} terms, not {len(glossary)}")
        for source, target in glossary.items():
            _check_term("glossary", source)
            _check_term("glossary", target)


def is_expression(term: str) -> bool:
    """Whether a term to protect is written as a regular expression."""
    return len(term) > 2 and term[0] == term[-1] == "/"


def compiled(term: str) -> Any:
    """The compiled /expression/.

    It is RE2's: matching takes linear time whatever the expression, so that nobody's can stop a
    server.

    Raises:
        RequestError: it is none that RE2 takes.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 20
    try:
        return re2.compile(term[1:-1], options)
    except re2.error as error:
        reason = error.args[0]
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise RequestError(
            f"protect: {_short(term)} is no regular expression of RE2 ({reason}); "
            "it has no look-around and no references back"
        ) from error


def _check_term(name: str, term: object) -> None:
    if not isinstance(term, str):
        raise RequestError(f"{name} takes texts, not {_short(term)}")
    if not term.isascii() and any("\ud800" <= sign <= "\udfff" for sign in term):
        raise RequestError(f"{name}: {_short(term)} is not valid Unicode")
    if len(term) > MAX_TERM or not normalise(term):
        raise RequestError(f"{name} takes terms of 1 to {MAX_TERM} characters, not {_short(term)}")


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
