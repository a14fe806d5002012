"""The tree of columns: every row sees exactly its own past, whatever happens to its mates."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.engine import Rows
from serving.engines.columns import Columns


class Sentence:
    """What a sentence's columns hold, and the true past of each of its rows."""

    def __init__(self) -> None:
        self.held: dict[int, int] = {}
        self.pasts: list[tuple[int, ...]] = []
        self.columns: list[list[int]] = []
        """Where its steps wrote."""


def run(seed: int, counts: list[int], steps: int) -> list[Sentence]:
    """Sentences of as many beams as `counts` says, reordered at random for some steps."""
    randoms = [np.random.default_rng([seed, n]) for n in range(len(counts))]
    sentences = [Sentence() for _ in counts]
    columns = Columns()
    first: list[int] = []
    for step in range(steps):
        cells, pasts = [], []
        for n, (sentence, beams) in enumerate(zip(sentences, counts, strict=True)):
            for _ in range(beams if step else 1):
                choice = int(randoms[n].integers(len(sentence.pasts))) if step else 0
                token = int(randoms[n].integers(1000))
                cells.append((n, token, step, first[n] + choice if step else 0))
                pasts.append((*(sentence.pasts[choice] if step else ()), token))
        of, token_ids, position, parent = (np.array(c) for c in zip(*cells, strict=True))
        column, visible = columns.append(Rows(of, token_ids, position, parent))
        assert visible.shape == (len(cells), columns.width)
        for sentence in sentences:
            sentence.pasts = []
            sentence.columns.append([])
        for (n, token, *_), where, past in zip(cells, column.tolist(), pasts, strict=True):
            sentences[n].held[where] = token
            sentences[n].pasts.append(past)
            sentences[n].columns[-1].append(where)
        for (n, *_), seen, past in zip(cells, visible, pasts, strict=True):
            found = [sentences[n].held[c] for c in np.flatnonzero(seen).tolist()]
            assert sorted(found) == sorted(past)
        first = [[c[0] for c in cells].index(n) for n in range(len(counts))]
    return sentences


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    counts=st.lists(st.integers(1, 8), min_size=1, max_size=5),
    steps=st.integers(1, 40),
)
def test_every_row_sees_its_own_past(seed: int, counts: list[int], steps: int) -> None:
    run(seed, counts, steps)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10**6), counts=st.lists(st.integers(1, 8), min_size=2, max_size=5))
def test_mates_do_not_move_a_column(seed: int, counts: list[int]) -> None:
    together = run(seed, counts, 20)
    alone = run(seed, counts[:1], 20)
    assert together[0].columns == alone[0].columns


def test_width_follows_what_is_needed() -> None:
    columns = Columns()
    one = np.zeros(1, dtype=np.int64)
    for position in range(200):
        columns.append(Rows(one, one, one + position, one))
    assert columns.width == 208
    columns.append(Rows(one, one, one, one))  # a new sentence alone
    assert columns.width == 16
