"""One cached decoding step, and the encoder's part in it: what is exported, as modules."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from model.layers import DecoderLayer
from model.masks import padding_mask, visible_columns_mask
from model.transformer import Transformer


class EncoderGraph(nn.Module):
    """Source ids to every decoder layer's cross-attention keys and values.

    They are computed once a sentence, so that a decoding step never touches the encoder's
    output or these projections again.
    """

    def __init__(self, transformer: Transformer) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        """source (B, S), lengths (B,) -> key, value, key, value, ... each (B, H, S, D/H)."""
        memory = self.transformer.encode(source, lengths)
        projected: list[Tensor] = []
        for layer in self.transformer.decoder_layers:
            projected.extend(layer.cross_attention.project_memory(memory))
        return tuple(projected)


class DecoderStepGraph(nn.Module):
    """One token for every row, with the self-attention cache reordered inside.

    The cache is right-aligned: a step appends its column at the end for all rows, and a row at
    position p sees the last p + 1 columns. So rows of different age share a step. The K rows
    of a sentence are K queries against its one set of cross-attention keys.
    """

    def __init__(self, transformer: Transformer, candidates: int) -> None:
        super().__init__()
        self.transformer = transformer
        self.candidates = min(candidates, transformer.config.vocab_size)

    def forward(
        self,
        token: Tensor,
        position: Tensor,
        parent: Tensor,
        lengths: Tensor,
        edit_id: Tensor,
        edit_factor: Tensor,
        edit_addend: Tensor,
        cross: list[Tensor],
        cache: list[Tensor],
    ) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
        """Run one step.

        Args:
            token: (B, K) newest token of each row; row n is beam n % K of sentence n // K.
            position: (B, K) its position, from 0.
            parent: (B, K) row of the cache that each row continues.
            lengths: (B,) source lengths.
            edit_id: (B, K, M) tokens whose log-probabilities are edited; see
                `serving.engine.Edits`.
            edit_factor: (B, K, M).
            edit_addend: (B, K, M).
            cross: key, value of each layer, each (B, H, S, D/H).
            cache: key, value of each layer, each (rows before, H, T, D/H); T may be 0.

        Returns:
            Log-probabilities (N, C) and ids (N, C) of the candidates, the edited
            log-probabilities (N, M), and the cache with the new column, each (N, H, T + 1, D/H).
        """
        model = self.transformer
        self_mask = visible_columns_mask(position.flatten(), cache[0].shape[2] + 1)
        cross_mask = padding_mask(lengths, cross[0].shape[2])
        rows = parent.flatten()
        x = model.embed(token.flatten()[:, None], position.flatten()[:, None])  # (N, 1, D)
        appended: list[Tensor] = []
        for index, layer in enumerate(model.decoder_layers):
            pair = slice(2 * index, 2 * index + 2)
            past = [tensor.index_select(0, rows) for tensor in cache[pair]]
            memory = _Attended(cross[pair][0], cross[pair][1], cross_mask)
            x, new = _cached_layer(layer, x, past, self_mask, memory, token.shape)
            appended.extend(new)
        logits = model.embedding.project(model.decoder_norm(x)[:, 0]).float()  # (N, V)
        edits = StepEdits(*(e.flatten(0, 1) for e in (edit_id, edit_factor, edit_addend)))
        return *best_candidates(logits, self.candidates, edits), appended


class StepEdits(NamedTuple):
    """As `serving.engine.Edits`, in tensors (N, M)."""

    ids: Tensor
    factor: Tensor
    addend: Tensor

    def apply(self, log_prob: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities (N, V) -> the same edited, and the edited ones alone (N, M)."""
        edited = log_prob.gather(1, self.ids) * self.factor + self.addend
        return log_prob.scatter(1, self.ids, edited), edited


def best_candidates(logits: Tensor, count: int, edits: StepEdits) -> tuple[Tensor, Tensor, Tensor]:
    """The best tokens of logits (N, V).

    Returns:
        Log-probabilities and ids (N, C), best first, and the edited log-probabilities (N, M).
    """
    log_prob, edited = edits.apply(torch.log_softmax(logits, dim=-1))
    return *torch.topk(log_prob, count, dim=-1), edited


class _Attended(NamedTuple):
    """Projected keys and values, and who may look at them."""

    key: Tensor
    value: Tensor
    mask: Tensor


def _cached_layer(
    layer: DecoderLayer,
    x: Tensor,
    past: list[Tensor],
    self_mask: Tensor,
    memory: _Attended,
    beams: torch.Size,
) -> tuple[Tensor, list[Tensor]]:
    """One decoder layer for one new position.

    Args:
        layer: whose weights to use.
        x: (N, 1, D).
        past: key and value of the rows' earlier positions, each (N, H, T, D/H).
        self_mask: (N, 1, 1, T + 1).
        memory: cross-attention keys and values (B, H, S, D/H), mask (B, 1, 1, S).
        beams: (B, K).

    Returns:
        The layer's output (N, 1, D), and key and value with the new column.
    """
    present: list[Tensor] = []

    def self_attend(y: Tensor) -> Tensor:
        new = layer.self_attention.project_memory(y)
        present.extend(torch.cat(both, dim=2) for both in zip(past, new, strict=True))
        return layer.self_attention.attend(y, present[0], present[1], self_mask)

    def cross_attend(y: Tensor) -> Tensor:
        queries = y.view(*beams, y.shape[-1])  # (B, K, D): K queries on one set of keys
        return layer.cross_attention.attend(queries, *memory).view(y.shape)

    return layer.connect(x, self_attend, cross_attend, layer.feed_forward), present
