"""The ONNX Runtime engine."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from serving.engine import Candidates, EngineSpec, Ids
from serving.errors import ConfigError


def cross_names(layers: int) -> list[str]:
    """Names of the encoder's outputs, which are inputs of the step."""
    return [f"cross_{kind}.{layer}" for layer in range(layers) for kind in ("key", "value")]


def cache_names(layers: int, prefix: str) -> list[str]:
    """Names of the self-attention cache, `past` as input or `present` as output of a step."""
    return [f"{prefix}_{kind}.{layer}" for layer in range(layers) for kind in ("key", "value")]


@dataclasses.dataclass(frozen=True)
class OnnxMemory:
    """Cross-attention keys and values: arrays (B, H, S, D/H), and source lengths (B,)."""

    lengths: Ids
    cross: list[Any]
    """ONNX Runtime's own values, so that a step does not copy them."""

    @property
    def sentences(self) -> int:
        """B."""
        return len(self.lengths)

    def join(self, other: OnnxMemory) -> OnnxMemory:
        """The sentences of both, padded to the longer source."""
        lengths = np.concatenate((self.lengths, other.lengths))
        pairs = zip(self.cross, other.cross, strict=True)
        return OnnxMemory(lengths, [_value(_stack(a.numpy(), b.numpy())) for a, b in pairs])

    def select(self, sentences: Ids) -> OnnxMemory:
        """The sentences at these indices, cut to the longest of them."""
        lengths = self.lengths[sentences]
        width = int(lengths.max())
        cut = [_value(value.numpy()[sentences, :, :width]) for value in self.cross]
        return OnnxMemory(lengths, cut)


def _stack(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Stack (B, H, S, D/H) on axis B, the shorter S padded with zeros."""
    count, heads, _, width = first.shape
    length = max(first.shape[2], second.shape[2])
    joined = np.zeros((count + len(second), heads, length, width), dtype=first.dtype)
    joined[:count, :, : first.shape[2]] = first
    joined[count:, :, : second.shape[2]] = second
    return joined


def _value(array: NDArray[Any]) -> Any:
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))


class OnnxEngine:
    """Encoder and decoder step as two ONNX Runtime sessions."""

    def __init__(
        self, encoder: Path | bytes, decoder_step: Path | bytes, spec: EngineSpec, threads: int = 0
    ) -> None:
        """Load both graphs.

        Args:
            encoder: path of the graph, or the graph itself.
            decoder_step: as `encoder`.
            spec: the model's sizes and special ids.
            threads: of each operator; 0 lets ONNX Runtime take one a core.

        Raises:
            ConfigError: a graph is missing or ONNX Runtime refuses it.
        """
        self.spec = spec
        self._encoder = _session(encoder, threads)
        self._step = _session(decoder_step, threads)
        layers = spec.decoder_layers
        self._cross = cross_names(layers)
        self._past = cache_names(layers, "past")
        self._outputs = ["log_prob", "candidate", *cache_names(layers, "present")]
        empty = np.zeros((1, spec.heads, 0, spec.d_head), dtype=np.float32)
        self._empty = _value(empty)

    def encode(self, source: Ids, lengths: Ids) -> OnnxMemory:
        """Padded ids (B, S) and lengths (B,) -> memory."""
        feed = {"source": _value(source), "lengths": _value(lengths)}
        return OnnxMemory(lengths, self._encoder.run_with_ort_values(self._cross, feed))

    def step(
        self, memory: OnnxMemory, cache: list[Any] | None, token: Ids, position: Ids, parent: Ids
    ) -> tuple[Candidates, list[Any]]:
        """One token for each row; see `serving.engine.Engine.step`."""
        if cache is None:
            cache = [self._empty] * len(self._past)
        shape = (memory.sentences, -1)  # (B, K)
        feed = {
            "token": _value(token.reshape(shape)),
            "position": _value(position.reshape(shape)),
            "parent": _value(parent.reshape(shape)),
            "lengths": _value(memory.lengths),
            **dict(zip(self._cross, memory.cross, strict=True)),
            **dict(zip(self._past, _trim(cache, int(position.max())), strict=True)),
        }
        outputs = self._step.run_with_ort_values(self._outputs, feed)
        return Candidates(outputs[0].numpy(), outputs[1].numpy()), outputs[2:]


def _trim(cache: list[Any], columns: int) -> list[Any]:
    """Keep the last columns, those that the oldest row can see."""
    if cache[0].shape()[2] <= columns:
        return cache
    return [_value(value.numpy()[:, :, value.shape()[2] - columns :]) for value in cache]


def _session(graph: Path | bytes, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    source = graph if isinstance(graph, bytes) else str(graph)
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's errors share no base class of their own
        name = "the graph" if isinstance(graph, bytes) else graph
        raise ConfigError(f"ONNX Runtime cannot load {name}: {error}") from error
