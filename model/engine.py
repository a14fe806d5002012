"""The PyTorch engine: the reference that the exported graphs are held to."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from model.step import DecoderStepGraph, EncoderGraph, StepEdits
from model.transformer import Transformer
from serving.engine import Candidates, Edits, EngineSpec, Ids
from serving.grid import GridDecoder
from serving.options import MAX_BEAM_SIZE


@dataclasses.dataclass(frozen=True)
class TorchMemory:
    """Cross-attention keys and values: tensors (B, H, S, D/H), and source lengths (B,)."""

    lengths: Tensor
    cross: list[Tensor]

    @property
    def sentences(self) -> int:
        """B."""
        return self.lengths.shape[0]

    def join(self, other: TorchMemory) -> TorchMemory:
        """The sentences of both, padded to the longer source."""
        width = max(self.cross[0].shape[2], other.cross[0].shape[2])
        cross = [
            torch.cat([functional.pad(t, (0, 0, 0, width - t.shape[2])) for t in pair])
            for pair in zip(self.cross, other.cross, strict=True)
        ]
        return TorchMemory(torch.cat((self.lengths, other.lengths)), cross)

    def select(self, sentences: Ids) -> TorchMemory:
        """The sentences at these indices, cut to the longest of them."""
        index = torch.from_numpy(sentences).to(self.lengths.device)
        lengths = self.lengths[index]
        width = int(lengths.max())
        return TorchMemory(lengths, [t[index, :, :width] for t in self.cross])


class TorchEngine:
    """Runs the modules that `export` turns into graphs."""

    def __init__(self, transformer: Transformer) -> None:
        config = transformer.config
        self._device = transformer.embedding.weight.device
        self._encoder = EncoderGraph(transformer)
        self._step = DecoderStepGraph(transformer, 2 * MAX_BEAM_SIZE)
        self.spec = engine_spec(transformer)
        widths = (config.d_k or config.d_head, config.d_head)
        self._empty = [torch.zeros(1, config.heads, 0, w, device=self._device) for w in widths]

    def decoder(self) -> GridDecoder[TorchMemory, list[Tensor]]:
        """A new decoder with nothing in flight."""
        return GridDecoder(self)

    def encode(self, source: Ids, lengths: Ids) -> TorchMemory:
        """Padded ids (B, S) and lengths (B,) -> memory."""
        with torch.inference_mode():
            device_lengths = torch.from_numpy(lengths).to(self._device)
            cross = self._encoder(torch.from_numpy(source).to(self._device), device_lengths)
        return TorchMemory(device_lengths, list(cross))

    def step(
        self,
        memory: TorchMemory,
        cache: list[Tensor] | None,
        token: Ids,
        position: Ids,
        parent: Ids,
        edits: Edits,
    ) -> tuple[Candidates, list[Tensor]]:
        """One token for each row; see `serving.grid.GridEngine.step`."""
        if cache is None:
            cache = self._empty * self.spec.decoder_layers
        past = int(position.max())
        cache = [tensor[:, :, tensor.shape[2] - past :] for tensor in cache]
        shape = (memory.sentences, -1)  # (B, K)
        rows = [a.reshape(shape) for a in (token, position, parent)]
        inputs = [torch.from_numpy(a).to(self._device) for a in rows]
        beams = len(token) // memory.sentences
        edit = [
            e.view(memory.sentences, beams, edits.width) for e in on_device(edits, self._device)
        ]
        with torch.inference_mode():
            *found, appended = self._step(*inputs, memory.lengths, *edit, memory.cross, cache)
        return on_host(*found), appended


def on_device(edits: Edits, device: torch.device) -> StepEdits:
    """Edits as a step takes them."""
    return StepEdits(*(torch.from_numpy(array).to(device) for array in edits.arrays))


def on_host(log_prob: Tensor, ids: Tensor, edited: Tensor) -> Candidates:
    """Candidates (N, C) as search takes them."""
    scores, edited_scores = (tensor.float().cpu().numpy() for tensor in (log_prob, edited))
    return Candidates(scores, ids.cpu().numpy().astype(np.int64), edited_scores)


def engine_spec(transformer: Transformer) -> EngineSpec:
    """What search must know of this model."""
    config = transformer.config
    return EngineSpec(
        vocab_size=config.vocab_size,
        candidates=min(2 * MAX_BEAM_SIZE, config.vocab_size),
        decoder_layers=config.decoder_layers,
        heads=config.heads,
        d_head=config.d_head,
        pad_id=config.pad_id,
        start_id=config.bos_id,
        eos_id=config.eos_id,
    )
