"""A model without weights: random but fixed log-probabilities for each sentence and prefix."""

from __future__ import annotations

import dataclasses
import functools
import zlib

import numpy as np

from serving.engine import Candidates, Edits, EngineSpec, Ids, Scores
from serving.grid import GridDecoder

START, EOS = 1, 2


@functools.lru_cache(maxsize=100_000)
def next_log_probs(sentence: tuple[int, ...], prefix: tuple[int, ...], vocab_size: int) -> Scores:
    """Log-probabilities (V,) of what follows `prefix`; the start symbol is no part of it."""
    seed = zlib.crc32(repr((sentence, prefix)).encode())
    logits = np.random.default_rng(seed).normal(scale=2.0, size=vocab_size)
    logits[[0, START]] = -50.0
    normalised: Scores = (logits - np.log(np.exp(logits).sum())).astype(np.float32)
    normalised.flags.writeable = False
    return normalised


@dataclasses.dataclass(frozen=True)
class FakeMemory:
    """The sentences themselves."""

    texts: list[tuple[int, ...]]

    @property
    def sentences(self) -> int:
        return len(self.texts)

    def join(self, other: FakeMemory) -> FakeMemory:
        return FakeMemory(self.texts + other.texts)

    def select(self, sentences: Ids) -> FakeMemory:
        return FakeMemory([self.texts[i] for i in sentences])


class FakeEngine:
    """Keeps each row's prefix as its cache, so that a wrong parent or position shows at once."""

    def __init__(self, vocab_size: int = 12, candidates: int = 16) -> None:
        self.spec = EngineSpec(
            vocab_size=vocab_size,
            candidates=min(candidates, vocab_size),
            decoder_layers=1,
            heads=1,
            d_head=1,
            pad_id=0,
            start_id=START,
            eos_id=EOS,
        )
        self.steps = 0
        self.largest_step = 0

    def decoder(self) -> GridDecoder[FakeMemory, list[tuple[int, ...]]]:
        return GridDecoder(self)

    def encode(self, source: Ids, lengths: Ids) -> FakeMemory:
        return FakeMemory([tuple(row[:n]) for row, n in zip(source.tolist(), lengths, strict=True)])

    def step(
        self,
        memory: FakeMemory,
        cache: list[tuple[int, ...]] | None,
        token: Ids,
        position: Ids,
        parent: Ids,
        edits: Edits,
    ) -> tuple[Candidates, list[tuple[int, ...]]]:
        self.steps += 1
        self.largest_step = max(self.largest_step, len(token))
        beams = len(token) // memory.sentences
        assert beams * memory.sentences == len(token) == len(position) == len(parent)
        rows: list[tuple[int, ...]] = []
        log_probs = []
        for row in range(len(token)):
            if position[row] == 0:
                assert token[row] == START
                prefix: tuple[int, ...] = ()
            else:
                assert cache is not None
                prefix = (*cache[parent[row]], int(token[row]))
            rows.append(prefix)
            sentence = memory.texts[row // beams]
            log_probs.append(next_log_probs(sentence, prefix, self.spec.vocab_size))
        everything = np.array(log_probs)
        edited = np.take_along_axis(everything, edits.ids, axis=1) * edits.factor + edits.addend
        np.put_along_axis(everything, edits.ids, edited, axis=1)
        ranked = np.argsort(-everything, axis=1, kind="stable")[:, : self.spec.candidates]
        picked = np.take_along_axis(everything, ranked, axis=1)
        return Candidates(picked, ranked, edited), rows
