"""Which source piece each piece of a translation comes from, on CPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from serving.engine import EngineSpec, pad
from serving.engines.packed import encoder_feed
from serving.engines.sessions import Graph, cpu_session

Attention = NDArray[np.float32]

_CELLS = 1 << 18
"""Most pairs of a source and a target piece in one batch, padding counted: what bounds memory."""

_SENTENCES = 32


class Aligner:
    """Runs the encoder and `aligner.onnx`; any number of threads may call it at once."""

    def __init__(self, encoder: Graph, aligner: Graph, spec: EngineSpec, threads: int = 1) -> None:
        """Load both graphs.

        Args:
            encoder: the bundle's, for CPUs: path of the graph, or the graph itself.
            aligner: as `encoder`.
            spec: the model's sizes and special ids.
            threads: of one call; 0 is one a core.

        Raises:
            ConfigError: ONNX Runtime refuses a graph.
        """
        self._spec = spec
        self._encoder = cpu_session(encoder, threads)
        self._aligner = cpu_session(aligner, threads)
        own = {"target", "lengths"}
        self._cross = [i.name for i in self._aligner.get_inputs() if i.name not in own]

    def align(
        self, source_ids: Sequence[Sequence[int]], target_ids: Sequence[Sequence[int]]
    ) -> list[Attention]:
        """How much each target piece takes of each source piece.

        Args:
            source_ids: ids of each sentence, closed by EOS, as they were translated.
            target_ids: ids of its translation, without the decoder's first input; EOS may close it.

        Returns:
            (T, S) for each sentence, rows that sum to 1; without cells where a side is empty.
        """
        sizes = [(len(s), len(t)) for s, t in zip(source_ids, target_ids, strict=True)]
        found = [np.zeros((targets, sources), dtype=np.float32) for sources, targets in sizes]
        for batch in _batches(sizes):
            together = self._run([source_ids[i] for i in batch], [target_ids[i] for i in batch])
            for index, attention in zip(batch, together, strict=True):
                sources, targets = sizes[index]
                found[index] = attention[:targets, :sources]
        return found

    def _run(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Attention:
        """Padded sentences together, (B, T, S)."""
        source, lengths = pad(sources, self._spec.pad_id)
        feed = encoder_feed(source, lengths, source.shape[1])
        cross = self._encoder.run(self._cross, feed)
        target, _ = pad(targets, self._spec.pad_id)
        inputs = dict(zip(self._cross, cross, strict=True))
        inputs |= {"target": target, "lengths": feed["lengths"]}
        attention: Attention = self._aligner.run(["attention"], inputs)[0]
        return attention


def _batches(sizes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Sentences of like length together, without those that have an empty side."""
    order = sorted((i for i, size in enumerate(sizes) if min(size)), key=lambda i: sizes[i])
    batch: list[int] = []
    longest = 0
    for index in order:
        sources, targets = sizes[index]
        longest = max(longest, targets)
        if batch and (len(batch) == _SENTENCES or (len(batch) + 1) * sources * longest > _CELLS):
            yield batch
            batch, longest = [], targets
        batch.append(index)
    if batch:
        yield batch
