"""The engine whose graphs are models of this server, called through BLS at every step.

The self-attention cache comes out of one call and goes into the next, so that it crosses the
border between processes twice a step: docs/performance.md has what that costs. What this buys is
that Triton itself holds the graphs, with its own instances, metrics and files.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from serving.engine import Candidates, Edits, EngineSpec, Ids, Room
from serving.engines.names import EDITS, FOUND, cache_names, cross_names
from serving.errors import DragomanError
from serving.grid import GridDecoder, stack_padded
from serving.options import MAX_SOURCE_TOKENS, max_output_length
from serving.triton.interface import Array, Triton

ENCODER, DECODER_STEP = "encoder", "decoder_step"
"""How the two models are called unless the settings say otherwise."""

SENTENCES = 32
"""Most sentences in a step; plans are compiled for as many."""

SPARE_COLUMNS = 8
"""Oldest columns that no row sees any more and that are carried along before all are cut off."""

COLUMNS = max_output_length(MAX_SOURCE_TOKENS) + SPARE_COLUMNS
"""Most columns of a cache that goes into a step."""


EDIT_ROOM = 2304
"""Most edits of a row: tokens that it has written (1,050), that are suppressed (1,000), symbols."""


class NativeModelError(DragomanError):
    """A model of this server did not answer; the message says which, and what Triton says."""


class NativeModel:
    """A model of this server."""

    def __init__(self, triton: Triton, name: str, outputs: Sequence[str]) -> None:
        self._triton = triton
        self._name = name
        self._outputs = list(outputs)

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Tensors of Triton's in; the outputs out, in the order of their names.

        Raises:
            NativeModelError: the model is not there, or failed.
        """
        request = self._triton.InferenceRequest(
            model_name=self._name,
            requested_output_names=self._outputs,
            inputs=list(inputs),
            # The scores are read here, and one request's outputs all lie in one kind of memory.
            preferred_memory=self._triton.PreferredMemory(self._triton.TRITONSERVER_MEMORY_CPU),
        )
        response = request.exec()
        if response.has_error():
            reason = response.error().message()
            raise NativeModelError(f"the model {self._name!r} failed: {reason}")
        found = {tensor.name(): tensor for tensor in response.output_tensors()}
        return [found[name] for name in self._outputs]


@dataclasses.dataclass(frozen=True)
class NativeMemory:
    """Cross-attention keys and values: tensors (B, H, S, D/H), and source lengths (B,).

    The encoder's own tensors serve the step as they are: their names are those of its inputs.
    """

    triton: Triton
    lengths: Ids
    cross: list[Any]

    @property
    def sentences(self) -> int:
        """B."""
        return len(self.lengths)

    def join(self, other: NativeMemory) -> NativeMemory:
        """The sentences of both, padded to the longer source."""
        pairs = zip(self.cross, other.cross, strict=True)
        arrays = [stack_padded(one.as_numpy(), two.as_numpy()) for one, two in pairs]
        return self._with(np.concatenate((self.lengths, other.lengths)), arrays)

    def select(self, sentences: Ids) -> NativeMemory:
        """The sentences at these indices, cut to the longest of them."""
        lengths = self.lengths[sentences]
        width = int(lengths.max())
        return self._with(lengths, [t.as_numpy()[sentences, :, :width] for t in self.cross])

    def _with(self, lengths: Ids, arrays: Sequence[Array]) -> NativeMemory:
        names = [tensor.name() for tensor in self.cross]
        return NativeMemory(self.triton, lengths, _tensors(self.triton, names, arrays))


class NativeDecoder(GridDecoder[NativeMemory, list[Any]]):
    """Sentences in flight; see `serving.engine.Decoder`."""

    def room(self) -> Room:
        """As many sentences as plans are compiled for; rows and columns never exceed those."""
        in_flight = self._memory.sentences if self._memory else 0
        free = iter(range(in_flight, SENTENCES))
        return lambda _: next(free, None) is not None


class NativeEngine:
    """Encoder and decoder step as models of this server; see `serving.grid.GridEngine`."""

    def __init__(
        self,
        triton: Triton,
        spec: EngineSpec,
        encoder: str = ENCODER,
        decoder_step: str = DECODER_STEP,
    ) -> None:
        """Prepare the calls.

        Args:
            triton: the module `triton_python_backend_utils`.
            spec: the model's sizes and special ids.
            encoder: name of the model that is the encoder.
            decoder_step: name of the model that is the step.
        """
        self.spec = spec
        self._triton = triton
        layers = spec.decoder_layers
        outputs = [*FOUND, *cache_names(layers, "present")]
        self._encoder = NativeModel(triton, encoder, cross_names(layers))
        self._step = NativeModel(triton, decoder_step, outputs)
        self._past = cache_names(layers, "past")

    def decoder(self) -> NativeDecoder:
        """A new decoder with nothing in flight."""
        return NativeDecoder(self)

    def encode(self, source: Ids, lengths: Ids) -> NativeMemory:
        """Padded ids (B, S) and lengths (B,) -> memory."""
        inputs = _tensors(self._triton, ("source", "lengths"), (source, lengths))
        return NativeMemory(self._triton, lengths, self._encoder(inputs))

    def step(
        self,
        memory: NativeMemory,
        cache: list[Any] | None,
        token: Ids,
        position: Ids,
        parent: Ids,
        edits: Edits,
    ) -> tuple[Candidates, list[Any]]:
        """One token for each row; see `serving.grid.GridEngine.step`."""
        shape = (memory.sentences, -1)  # (B, K)
        names = ("token", "position", "parent", "lengths", *EDITS)
        rows = [array.reshape(shape) for array in (token, position, parent)]
        # As with the cache, Triton's backends need not take empty tensors.
        some = Edits.none(len(token), min(max(1, edits.width), EDIT_ROOM))
        some.put(np.arange(len(token)), edits)
        edit = [array.reshape(*rows[0].shape, -1) for array in some.arrays]
        past = self._start(memory) if cache is None else _trim(cache, int(position.max()))
        log_prob, candidate, edited, *present = self._step(
            [
                *_tensors(self._triton, names, (*rows, memory.lengths, *edit)),
                *memory.cross,
                *_tensors(self._triton, self._past, past),
            ]
        )
        scores = edited.as_numpy()[:, : edits.width]
        return Candidates(log_prob.as_numpy(), candidate.as_numpy(), scores), present

    def _start(self, memory: NativeMemory) -> list[Array]:
        """A column that no row ever sees: Triton's backends need not take empty tensors."""
        spec = self.spec
        dtype = memory.cross[0].as_numpy().dtype
        return [np.zeros((1, spec.heads, 1, spec.d_head), dtype=dtype)] * len(self._past)


def _trim(cache: Sequence[Any], columns: int) -> list[Array]:
    """Cut off columns that even the oldest row does not see, once they are many."""
    arrays = [tensor.as_numpy() for tensor in cache]
    surplus = arrays[0].shape[2] - max(columns, 1)
    if surplus <= SPARE_COLUMNS:
        return arrays
    return [array[:, :, surplus:] for array in arrays]


def _tensors(triton: Triton, names: Sequence[str], arrays: Sequence[Array]) -> list[Any]:
    pairs = zip(names, arrays, strict=True)
    return [triton.Tensor(name, np.ascontiguousarray(array)) for name, array in pairs]
