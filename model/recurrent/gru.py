"""RNNsearch, "Neural Machine Translation by Jointly Learning to Align and Translate".

Bahdanau et al. 2015, appendix A. As the Transformer does, it shares one embedding and has
dropout; recurrent connections have none (Zaremba et al. 2014).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from model.config import ModelConfig
from model.dropout import Dropout
from model.masks import padding_mask
from model.recurrent.attention import AdditiveAttention
from model.translation_model import TranslationModel


class Annotations(NamedTuple):
    """The encoder's states of B sentences, as attention uses them.

    Attributes:
        memory: (B, S, 2D) both directions side by side.
        keys: (B, S, D) their projection.
        mask: bool (B, 1, S), True where there is a word.
    """

    memory: Tensor
    keys: Tensor
    mask: Tensor


class GruEncoder(nn.Module):
    """Layers of bidirectional GRUs, D wide in each direction."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.d_model
        inputs = [width, *[2 * width] * (config.encoder_layers - 1)]
        self.layers = nn.ModuleList(
            nn.GRU(size, width, batch_first=True, bidirectional=True) for size in inputs
        )
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Read the words of a sentence and no padding.

        Args:
            x: (B, S, D) embeddings.
            lengths: (B,).

        Returns:
            The annotations (B, S, 2D), and the last layer's backward state at the first word
            (B, D), which has seen the whole sentence.
        """
        width, host_lengths = x.shape[1], lengths.cpu()
        for layer in self.layers:
            packed = pack_padded_sequence(
                self.dropout(x), host_lengths, batch_first=True, enforce_sorted=False
            )
            outputs, last = layer(packed)  # last (2, B, D): forward, backward
            x, _ = pad_packed_sequence(outputs, batch_first=True, total_length=width)
        return x, last[1]


class GruDecoder(nn.Module):
    """Layers of GRU cells; the first reads the last word and what attention found for it."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, layers = config.d_model, config.decoder_layers
        self.attention = AdditiveAttention(width, 2 * width, width)
        self.start = nn.Linear(width, layers * width)
        self.cells = nn.ModuleList(
            nn.GRUCell(size, width) for size in [3 * width, *[width] * (layers - 1)]
        )
        self.readout = nn.Linear(4 * width, 2 * width)
        self.dropout = Dropout(config.dropout)

    def first_state(self, last: Tensor) -> list[Tensor]:
        """The state before the first word: (B, D) of the encoder -> (B, D) for each layer."""
        return list(torch.tanh(self.start(last)).chunk(len(self.cells), dim=-1))

    def step(
        self, word: Tensor, state: list[Tensor], annotations: Annotations
    ) -> tuple[Tensor, list[Tensor]]:
        """One word for each of N = B x K rows, the K of a sentence side by side.

        Args:
            word: (N, D) embeddings of the rows' last words.
            state: (N, D) for each layer.
            annotations: of B sentences.

        Returns:
            What attention found, (N, 2D), and the new state.
        """
        batch = annotations.memory.shape[0]
        query = state[-1].view(batch, -1, state[-1].shape[-1])  # (B, K, D)
        found = self.attention(query, annotations.keys, annotations.memory, annotations.mask)
        context = found.flatten(0, 1)  # (N, 2D)
        x = torch.cat((word, context), dim=-1)  # (N, 3D)
        new: list[Tensor] = []
        for cell, before in zip(self.cells, state, strict=True):
            new.append(cell(self.dropout(x) if new else x, before))
            x = new[-1]
        return context, new

    def hidden(self, word: Tensor, context: Tensor, top: Tensor) -> Tensor:
        """Deep output with maxout: (..., D), (..., 2D), top layer's state (..., D) -> (..., D)."""
        joined = torch.cat((word, context, self.dropout(top)), dim=-1)  # (..., 4D)
        pairs = self.readout(joined).unflatten(-1, (-1, 2))  # (..., D, 2)
        widest: Tensor = self.dropout(pairs.amax(-1))
        return widest


class GruModel(TranslationModel):
    """Encoder, attention and decoder; sizes are `d_model`, the layers and `dropout`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.dropout = Dropout(config.dropout)
        self.encoder = GruEncoder(config)
        self.decoder = GruDecoder(config)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Annotations, list[Tensor]]:
        """source ids (B, S), lengths (B,) -> annotations, and the decoder's first state."""
        memory, last = self.encoder(self.embedding(source), lengths)
        keys = self.decoder.attention.project_memory(memory)
        mask = padding_mask(lengths, source.shape[1])[:, 0]
        return Annotations(memory, keys, mask), self.decoder.first_state(last)

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """source (B, S), lengths (B,), target shifted right (B, T) -> hidden states (B, T, D)."""
        annotations, state = self.encode(source, lengths)
        words = self.dropout(self.embedding(target))  # (B, T, D)
        contexts, tops = [], []
        for word in words.unbind(1):
            context, state = self.decoder.step(word, state, annotations)
            contexts.append(context)
            tops.append(state[-1])
        return self.decoder.hidden(words, torch.stack(contexts, 1), torch.stack(tops, 1))
