"""The engine of a GRU model: its cache is the recurrent state, one vector a row and layer."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor
from torch.nn import functional

from model.engine import on_device, on_host
from model.recurrent.gru import Annotations, GruModel
from model.step import best_candidates
from serving.engine import Candidates, Edits, EngineSpec, Ids
from serving.grid import GridDecoder
from serving.options import MAX_BEAM_SIZE


@dataclasses.dataclass(frozen=True)
class GruMemory:
    """Annotations of B sentences, their lengths (B,), and first states (B, D) for each layer."""

    lengths: Tensor
    annotations: Annotations
    first: list[Tensor]

    @property
    def sentences(self) -> int:
        """B."""
        return self.lengths.shape[0]

    def join(self, other: GruMemory) -> GruMemory:
        """The sentences of both, padded to the longer source."""
        width = max(m.annotations.memory.shape[1] for m in (self, other))
        ours, theirs = (_widened(m.annotations, width) for m in (self, other))
        return GruMemory(
            torch.cat((self.lengths, other.lengths)),
            Annotations(*(torch.cat(pair) for pair in zip(ours, theirs, strict=True))),
            [torch.cat(pair) for pair in zip(self.first, other.first, strict=True)],
        )

    def select(self, sentences: Ids) -> GruMemory:
        """The sentences at these indices, cut to the longest of them."""
        index = torch.from_numpy(sentences).to(self.lengths.device)
        lengths = self.lengths[index]
        width = int(lengths.max())
        memory, keys, mask = (tensor[index] for tensor in self.annotations)
        cut = Annotations(memory[:, :width], keys[:, :width], mask[..., :width])
        return GruMemory(lengths, cut, [tensor[index] for tensor in self.first])


def _widened(annotations: Annotations, width: int) -> Annotations:
    missing = width - annotations.memory.shape[1]
    memory, keys = (functional.pad(t, (0, 0, 0, missing)) for t in annotations[:2])
    return Annotations(memory, keys, functional.pad(annotations.mask, (0, missing)))


class GruEngine:
    """Encodes and steps with a GRU model; see `serving.engine.Engine`."""

    def __init__(self, model: GruModel) -> None:
        config = model.config
        self._model = model
        self._device = model.embedding.weight.device
        self.spec = EngineSpec(
            vocab_size=config.vocab_size,
            candidates=min(2 * MAX_BEAM_SIZE, config.vocab_size),
            decoder_layers=0,  # none has a self-attention cache
            heads=1,
            d_head=config.d_model,
            pad_id=config.pad_id,
            start_id=config.bos_id,
            eos_id=config.eos_id,
        )

    def decoder(self) -> GridDecoder[GruMemory, list[Tensor]]:
        """A new decoder with nothing in flight."""
        return GridDecoder(self)

    def encode(self, source: Ids, lengths: Ids) -> GruMemory:
        """Padded ids (B, S) and lengths (B,) -> memory."""
        with torch.inference_mode():
            device_lengths = torch.from_numpy(lengths).to(self._device)
            ids = torch.from_numpy(source).to(self._device)
            return GruMemory(device_lengths, *self._model.encode(ids, device_lengths))

    def step(
        self,
        memory: GruMemory,
        cache: list[Tensor] | None,
        token: Ids,
        position: Ids,
        parent: Ids,
        edits: Edits,
    ) -> tuple[Candidates, list[Tensor]]:
        """One token for each row; see `serving.grid.GridEngine.step`."""
        beams = len(token) // memory.sentences
        ids, rows = (torch.from_numpy(a).to(self._device) for a in (token, parent))
        begins = torch.from_numpy(position == 0).to(self._device)[:, None]  # (N, 1)
        with torch.inference_mode():
            state = [tensor.repeat_interleave(beams, dim=0) for tensor in memory.first]
            if cache is not None:
                pairs = zip(state, cache, strict=True)
                state = [torch.where(begins, first, past[rows]) for first, past in pairs]
            word = self._model.embedding(ids)  # (N, D)
            decoder = self._model.decoder
            context, state = decoder.step(word, state, memory.annotations)
            logits = self._model.embedding.project(decoder.hidden(word, context, state[-1]))
            found = best_candidates(logits, self.spec.candidates, on_device(edits, self._device))
        return on_host(*found), state
