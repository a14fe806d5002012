"""The proof that an engine translates as PyTorch does, before its files are written."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from serving.engine import Demand, Engine, Ids, Rows, pad
from serving.errors import DragomanError
from serving.options import DecodingOptions, max_output_length
from serving.search import search

TOLERANCE = 1e-4
"""Largest difference of a log-probability between FP32 engines."""

_GROUP = 32


class ProofError(DragomanError):
    """An exported graph does not agree with PyTorch."""


@dataclasses.dataclass(frozen=True)
class Proof:
    """What was compared.

    Attributes:
        sentences: source sentences.
        steps: steps of greedy search whose candidates were compared, summed over groups.
        largest_difference: of any candidate's log-probability.
        beams: beam sizes whose translations were identical.
    """

    sentences: int
    steps: int
    largest_difference: float
    beams: tuple[int, ...]

    def __str__(self) -> str:
        return (
            f"log-probabilities within {self.largest_difference:.1e} over {self.steps} steps, "
            f"identical translations with beams {self.beams}"
        )


def prove(
    reference: Engine,
    engine: Engine,
    sentences: Sequence[Sequence[int]],
    beams: Sequence[int] = (1, 4),
) -> Proof:
    """Compare every step's log-probabilities and whole translations.

    Args:
        reference: the PyTorch engine.
        engine: the engine under proof.
        sentences: source ids of real sentences, none empty.
        beams: beam sizes to search with; 1 is greedy search.

    Raises:
        ProofError: log-probabilities differ by more than `TOLERANCE`, or a translation differs.
    """
    if not sentences:
        raise ProofError("no sentence to prove the export on")
    steps, largest = 0, 0.0
    for group in groups(engine, sentences):
        done, difference = compare_steps(reference, engine, group)
        steps, largest = steps + done, float(np.maximum(largest, difference))  # keeps NaN
    if not largest <= TOLERANCE:
        raise ProofError(
            f"log-probabilities differ by up to {largest:.2e}; at most {TOLERANCE:.0e} is allowed"
        )
    for beam_size in beams:
        _compare_translations(reference, engine, sentences, beam_size)
    return Proof(len(sentences), steps, largest, tuple(beams))


def groups(engine: Engine, sentences: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """As many sentences at once as the engine has room for, at most `_GROUP`."""
    decoder = engine.decoder()
    reserve = decoder.room()
    group: list[Sequence[int]] = []
    for sentence in sentences:
        [demand] = _demands([sentence])
        full = not reserve(demand) or len(group) == _GROUP
        if group and full:
            yield group
            group, reserve = [], decoder.room()
            reserve(demand)
        group.append(sentence)
    yield group


def _demands(sentences: Sequence[Sequence[int]]) -> list[Demand]:
    return [Demand(len(ids), 1, max_output_length(len(ids))) for ids in sentences]


def compare_steps(
    reference: Engine, engine: Engine, sentences: Sequence[Sequence[int]]
) -> tuple[int, float]:
    """Drive both engines with the reference's greedy tokens; steps done, largest difference."""
    source, lengths = pad(sentences, reference.spec.pad_id)
    decoders = [one.decoder() for one in (reference, engine)]
    for decoder in decoders:
        decoder.join(source, _demands(sentences))
    count = len(sentences)
    token = np.full(count, reference.spec.start_id, dtype=np.int64)
    everyone: Ids = np.arange(count)
    alive = np.ones(count, dtype=bool)
    largest = 0.0
    for step in range(max_output_length(int(lengths.min()))):
        rows = Rows(everyone, token, np.full(count, step, dtype=np.int64), everyone)
        expected, found = (decoder.step(rows) for decoder in decoders)
        difference = np.abs(expected.log_prob - found.log_prob)[alive]
        largest = float(np.maximum(largest, difference.max()))
        token = expected.token[:, 0].copy()
        alive &= token != reference.spec.eos_id
        if not alive.any():
            break
    return step + 1, largest


def _compare_translations(
    reference: Engine,
    engine: Engine,
    sentences: Sequence[Sequence[int]],
    beam_size: int,
) -> None:
    options = DecodingOptions(beam_size=beam_size)
    pairs = zip(*(search(one, sentences, options) for one in (reference, engine)), strict=True)
    for index, (expected, found) in enumerate(pairs):
        if [h.ids for h in expected] != [h.ids for h in found]:
            raise ProofError(
                f"beam {beam_size}, sentence {index + 1}: translations differ: "
                f"{expected[0].ids} by PyTorch, {found[0].ids} by the exported graphs"
            )
