"""Which heads align words, and how they are found."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from model.config import ModelConfig
from serving.errors import ConfigError


@dataclasses.dataclass(frozen=True)
class Heads:
    """Heads of one decoder layer's cross-attention, whose weights are averaged.

    Attributes:
        layer: from 0.
        heads: from 0.
        reading: whether a word's weights are those of the step whose input it is, rather than
            those of the step that predicts it (Chen et al. 2020, "Accurate Word Alignment
            Induction from Neural Machine Translation", call the former shifted).
    """

    layer: int
    heads: tuple[int, ...]
    reading: bool

    def __str__(self) -> str:
        heads = ", ".join(str(head + 1) for head in self.heads)
        name = "head" if len(self.heads) == 1 else "heads"
        step = "reading" if self.reading else "predicting"
        return f"layer {self.layer + 1}, {name} {heads}, {step}"

    def of(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """A sentence's weights (L, H, T + 1, S) -> attention (T, S)."""
        shown = weights[self.layer, list(self.heads), int(self.reading) :]
        attention: NDArray[np.float32] = shown[:, : weights.shape[2] - 1].mean(axis=0)
        return attention


def candidates(config: ModelConfig) -> Iterator[Heads]:
    """Each layer's heads together and each one alone, predicting and reading."""
    every = tuple(range(config.heads))
    for layer in range(config.decoder_layers):
        for heads in (every, *((head,) for head in every)):
            for reading in (False, True):
                yield Heads(layer, heads, reading)


def parse(words: str, config: ModelConfig) -> Sequence[Heads]:
    """The candidates that `LAYER` or `LAYER:HEAD` leaves, both counted from 1.

    Raises:
        ConfigError: there is no such layer or head.
    """
    every = tuple(range(config.heads))
    layer, _, head = words.partition(":")
    if not layer.isdecimal() or not 1 <= int(layer) <= config.decoder_layers:
        raise ConfigError(
            f"--alignment-layer must be auto, none, or a layer from 1 to {config.decoder_layers}, "
            f"with or without a head from 1 to {config.heads}, such as 1:{config.heads}; "
            f"not {words!r}"
        )
    if head and not (head.isdecimal() and 1 <= int(head) <= config.heads):
        raise ConfigError(f"this model has heads 1 to {config.heads}, not {head!r}")
    heads = (int(head) - 1,) if head else every
    return [Heads(int(layer) - 1, heads, reading) for reading in (False, True)]
