"""Runs the portable graphs, those that TensorRT takes, in ONNX Runtime: for parity alone."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from export.onnx_graphs import Graphs
from serving.engine import Candidates, Edits, EngineSpec, Ids
from serving.engines.names import EDITS, FOUND, cache_names, cross_names
from serving.grid import GridDecoder, stack_padded


@dataclasses.dataclass(frozen=True)
class PortableMemory:
    """Cross-attention keys and values: arrays (B, H, S, D/H), and source lengths (B,)."""

    lengths: Ids
    cross: list[Any]
    """ONNX Runtime's own values, so that a step does not copy them."""

    @property
    def sentences(self) -> int:
        """B."""
        return len(self.lengths)

    def join(self, other: PortableMemory) -> PortableMemory:
        """The sentences of both, padded to the longer source."""
        lengths = np.concatenate((self.lengths, other.lengths))
        pairs = zip(self.cross, other.cross, strict=True)
        joined = [stack_padded(one.numpy(), two.numpy()) for one, two in pairs]
        return PortableMemory(lengths, [_value(array) for array in joined])

    def select(self, sentences: Ids) -> PortableMemory:
        """The sentences at these indices, cut to the longest of them."""
        lengths = self.lengths[sentences]
        width = int(lengths.max())
        cut = [_value(value.numpy()[sentences, :, :width]) for value in self.cross]
        return PortableMemory(lengths, cut)


def _value(array: NDArray[Any]) -> Any:
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))


class PortableEngine:
    """Encoder and decoder step; see `serving.grid.GridEngine`."""

    def __init__(self, graphs: Graphs, spec: EngineSpec) -> None:
        self.spec = spec
        self._encoder, self._step = (
            onnxruntime.InferenceSession(
                graph.SerializeToString(), providers=["CPUExecutionProvider"]
            )
            for graph in (graphs.encoder, graphs.decoder_step)
        )
        layers = spec.decoder_layers
        self._cross = cross_names(layers)
        self._past = cache_names(layers, "past")
        self._outputs = [*FOUND, *cache_names(layers, "present")]
        self._empty = _value(np.zeros((1, spec.heads, 0, spec.d_head), dtype=np.float32))

    def decoder(self) -> GridDecoder[PortableMemory, list[Any]]:
        return GridDecoder(self)

    def encode(self, source: Ids, lengths: Ids) -> PortableMemory:
        """Padded ids (B, S) and lengths (B,) -> memory."""
        feed = {"source": _value(source), "lengths": _value(lengths)}
        return PortableMemory(lengths, self._encoder.run_with_ort_values(self._cross, feed))

    def step(
        self,
        memory: PortableMemory,
        cache: list[Any] | None,
        token: Ids,
        position: Ids,
        parent: Ids,
        edits: Edits,
    ) -> tuple[Candidates, list[Any]]:
        """One token for each row; see `serving.grid.GridEngine.step`."""
        if cache is None:
            cache = [self._empty] * len(self._past)
        shape = (memory.sentences, -1)  # (B, K)
        feed = {
            "token": _value(token.reshape(shape)),
            "position": _value(position.reshape(shape)),
            "parent": _value(parent.reshape(shape)),
            "lengths": _value(memory.lengths),
            **{
                name: _value(array.reshape((*token.reshape(shape).shape, edits.width)))
                for name, array in zip(EDITS, edits.arrays, strict=True)
            },
            **dict(zip(self._cross, memory.cross, strict=True)),
            **dict(zip(self._past, _trim(cache, int(position.max())), strict=True)),
        }
        outputs = self._step.run_with_ort_values(self._outputs, feed)
        return Candidates(*(value.numpy() for value in outputs[:3])), outputs[3:]


def _trim(cache: list[Any], columns: int) -> list[Any]:
    """Keep the last columns, those that the oldest row can see."""
    if cache[0].shape()[2] <= columns:
        return cache
    return [_value(value.numpy()[:, :, value.shape()[2] - columns :]) for value in cache]
