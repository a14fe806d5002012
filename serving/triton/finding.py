"""What the search found for a request, as the tensors between the models, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from serving.batch import Hypothesis
from serving.errors import RequestError
from serving.triton.answers import Arrays
from serving.triton.interface import Array
from serving.triton.ragged import flatten, split

Attention = NDArray[np.float32]


OUTPUTS = (
    *("hypothesis_ids", "hypothesis_lengths", "score", "truncated"),
    *("token_scores", "token_score_lengths", "attention", "attention_sizes", "seconds"),
)
"""Names of the tensors."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """Translations of a request's sentences.

    Attributes:
        hypotheses: of each sentence, equally many, best first.
        attention: of each sentence's best to its source, (T, S); empty where it was not asked for.
        seconds: until the first sentence was in flight, and until all were done.
    """

    hypotheses: list[list[Hypothesis]]
    attention: Sequence[Attention] = ()
    seconds: tuple[float, float] = (0.0, 0.0)

    def arrays(self) -> Arrays:
        """The tensors, for M hypotheses in all."""
        rows = [row for found in self.hypotheses for row in found]
        ids, lengths = flatten([row.ids for row in rows])
        scores = [np.asarray(row.token_scores, dtype=np.float32) for row in rows]
        cells = [one.reshape(-1) for one in self.attention]
        sizes = [one.shape for one in self.attention]
        return {
            "hypothesis_ids": ids,
            "hypothesis_lengths": lengths,
            "score": np.array([row.score for row in rows], dtype=np.float32),
            "truncated": np.array([row.truncated for row in rows], dtype=np.bool_),
            "token_scores": _filled(scores),
            "token_score_lengths": np.array([len(one) for one in scores], dtype=np.int32),
            "attention": _filled(cells),
            "attention_sizes": np.array(sizes or [(0, 0)], dtype=np.int32),
            "seconds": np.array(self.seconds, dtype=np.float32),
        }

    @classmethod
    def of(cls, array: Callable[[str], Array], sentences: int) -> Finding:
        """What tensors hold.

        Args:
            array: gives each by its name.
            sentences: how many the request has.

        Raises:
            RequestError: they do not belong together.
        """
        ids = split(array("hypothesis_ids"), array("hypothesis_lengths"))
        if not sentences or len(ids) % sentences:
            raise RequestError(f"{len(ids)} hypotheses are none of {sentences} sentences")
        score, truncated = array("score").tolist(), array("truncated").tolist()
        scores = _cut(array("token_scores"), array("token_score_lengths"))
        columns = (ids, score, truncated, scores)
        if {len(column) for column in columns} != {len(ids)}:
            raise RequestError("a hypothesis lacks its score")
        rows = [
            Hypothesis(tuple(tokens), one, cut, tuple(of_tokens.tolist()))
            for tokens, one, cut, of_tokens in zip(*columns, strict=True)
        ]
        count = len(ids) // sentences
        hypotheses = [rows[n : n + count] for n in range(0, len(rows), count)]
        queued, all_done = array("seconds").tolist()
        return cls(hypotheses, _attention(array, sentences), (queued, all_done))


def _attention(array: Callable[[str], Array], sentences: int) -> list[Attention]:
    sizes = array("attention_sizes")
    if len(sizes) != sentences or not sizes.any():
        return []
    cells = _cut(array("attention"), sizes.prod(axis=1))
    return [one.reshape(size) for one, size in zip(cells, sizes.tolist(), strict=True)]


def _filled(parts: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """All parts in one array, which is never empty: Triton takes no such array."""
    joined = np.concatenate([np.zeros(0, dtype=np.float32), *parts])
    return joined if joined.size else np.zeros(1, dtype=np.float32)


def _cut(values: Array, lengths: Array) -> list[Array]:
    ends = np.cumsum(lengths, dtype=np.int64)
    if lengths.min(initial=0) < 0 or (ends.size and ends[-1] > len(values)):
        raise RequestError("lengths and values do not belong together")
    return [values[end - length : end] for end, length in zip(ends, lengths, strict=True)]
