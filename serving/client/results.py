"""What a server answers, as Python values."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from tritonclient.grpc import InferResult

from serving.translator import Translation


@dataclasses.dataclass(frozen=True)
class Result:
    """The translation of one text.

    Attributes:
        translation: the best one.
        score: of its hypothesis; the nearer to 0, the surer.
        alternatives: the others, best first, where `n_best` asked for several.
        details: what `return_` asked for; None from a server that gives none.
    """

    translation: str
    score: float
    alternatives: tuple[Translation, ...] = ()
    details: Mapping[str, Any] | None = None


@dataclasses.dataclass(frozen=True)
class Part:
    """A sentence of a text, translated while others are still under way.

    Attributes:
        translation: of the sentence.
        index: its place among the sentences of the text, from 0.
        total: how many sentences the text has.
        source_start: where it begins in the text, in characters.
        source_end: where it ends.
        before: what stands between the sentence before it and it in the translated text.
        after: what follows the last sentence; empty for the others.
    """

    translation: str
    index: int
    total: int
    source_start: int
    source_end: int
    before: str = ""
    after: str = ""

    @property
    def text(self) -> str:
        """The translation with its surroundings; those of all parts by index are the whole."""
        return f"{self.before}{self.translation}{self.after}"


def results_of(response: Any, count: int) -> list[Result]:
    """The results of `count` texts from a `ModelInferResponse`."""
    answer = InferResult(response)
    translations = _texts(answer, "translation")
    scores = answer.as_numpy("score").tolist()
    details: list[Any] = [None] * count
    if answer.as_numpy("details") is not None:
        details = [json.loads(text) for text in _texts(answer, "details")]
    found = [Translation(*pair) for pair in zip(translations, scores, strict=True)]
    width = len(found) // count
    return [
        _result(found[n * width : (n + 1) * width], detail)
        for n, detail in zip(range(count), details, strict=True)
    ]


def part_of(response: Any) -> Part:
    """The part that a `ModelInferResponse` of the streaming model holds."""
    answer = InferResult(response)
    index, total, start, end = (
        int(answer.as_numpy(name).item())
        for name in ("index", "total", "source_start", "source_end")
    )
    (translation,), (before,), (after,) = (
        _texts(answer, name) for name in ("translation", "before", "after")
    )
    return Part(translation, index, total, start, end, before, after)


def is_last(response: Any) -> bool:
    """Whether a stream's response says that no other follows."""
    return bool(response.parameters["triton_final_response"].bool_param)


def _result(hypotheses: list[Translation], details: Any) -> Result:
    best, *others = hypotheses
    return Result(best.text, best.score, tuple(others), details)


def _texts(answer: Any, name: str) -> list[str]:
    return [value.decode("utf-8") for value in answer.as_numpy(name).reshape(-1)]
