"""One decoding step of fixed shape: B sentences of K rows, over caches written in place.

A sentence's K rows share one cache of L columns. Each step appends K columns, one a row, at
column K x position; no beam ever moves, and a row of booleans says which columns it descends
from (see `serving.engines.gpu.ancestry`). That is as many columns as a cache for each row, read
once for K queries and never reordered.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.onnx.ops import symbolic

from export.cpu.selection import GROUP, best_of_groups, in_whole_groups
from model.layers import DecoderLayer
from model.masks import padding_mask
from model.step import StepEdits
from model.transformer import Transformer

NEVER = -8e3
"""Logit of what only fills up the last group: far below any other, and far from the end of FP16."""


class BlockStep(nn.Module):
    """One token for every row of a block (B, K)."""

    def __init__(self, transformer: Transformer, candidates: int) -> None:
        super().__init__()
        self.transformer, bias = in_whole_groups(transformer)
        self.candidates = min(candidates, transformer.config.vocab_size)
        dtype = transformer.embedding.weight.dtype
        self.bias = None if bias is None else nn.Parameter(bias.clamp(min=NEVER).to(dtype))

    def forward(
        self,
        token: Tensor,
        position: Tensor,
        write: Tensor,
        lengths: Tensor,
        visible: Tensor,
        edit_id: Tensor,
        edit_factor: Tensor,
        edit_addend: Tensor,
        cross: list[Tensor],
        cache: list[Tensor],
    ) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
        """Run one step.

        Args:
            token: (B, K) int32, newest token of each row.
            position: (B,) int32, the position of a sentence's newest tokens, from 0.
            write: (B,) int64, the first of the K columns that they are written to.
            lengths: (B,) int32 source lengths, at least 1.
            visible: (B, 1, K, L) bool, the columns that each row attends to; some for every row.
            edit_id: (B, K, M) int32, tokens whose log-probabilities are edited; see
                `serving.engine.Edits`.
            edit_factor: (B, K, M) FP32.
            edit_addend: (B, K, M) FP32.
            cross: key, value of each layer, each (B, H, S, D/H).
            cache: key, value of each layer, each (B, H, L, D/H).

        Returns:
            Log-probabilities (B, K, C) FP32 and ids (B, K, C) int32, best first, the edited
            log-probabilities (B, K, M), and the cache with the new columns, in place where the
            engine binds it so.
        """
        model = self.transformer
        memory_mask = padding_mask(lengths, cross[0].shape[2])
        where = _Places(write, visible, memory_mask)
        x = model.embed(token, position[:, None])  # (B, K, D)
        written: list[Tensor] = []
        for index, layer in enumerate(model.decoder_layers):
            pair = slice(2 * index, 2 * index + 2)
            x, new = _layer(layer, x, where, cross[pair], cache[pair])
            written.extend(new)
        rows = model.decoder_norm(x).flatten(0, 1)  # (N, D)
        logits = functional.linear(rows, model.embedding.weight, self.bias).float()
        edits = (edit_id.long(), edit_factor, edit_addend)
        by_row = StepEdits(*(array.flatten(0, 1) for array in edits))
        best, ids, edited = _ranked(logits, self.candidates, by_row)
        shape = (*token.shape, self.candidates)
        edited = edited.view(*token.shape, edit_id.shape[2])
        return best.view(shape), ids.to(torch.int32).view(shape), edited, written


def _ranked(logits: Tensor, count: int, edits: StepEdits) -> tuple[Tensor, Tensor, Tensor]:
    """As `model.step.best_candidates`, for FP32 logits (N, V) of whole groups.

    The normaliser is written out, the largest logit taken off first: TensorRT's parser makes
    Log(Softmax) of LogSoftmax and Log(Sum(Exp)) of ReduceLogSumExp, which lose small and large
    numbers.
    """
    below = logits - logits.amax(dim=-1, keepdim=True)
    log_prob, edited = edits.apply(below - below.exp().sum(dim=-1, keepdim=True).log())
    groups = logits.shape[1] // GROUP
    if groups <= count:
        return *torch.topk(log_prob, count, dim=-1), edited
    return *best_of_groups(log_prob.view(-1, groups, GROUP), count), edited


class _Places(NamedTuple):
    """Where rows write and what they see; see `BlockStep.forward`."""

    write: Tensor
    visible: Tensor
    memory_mask: Tensor


def _layer(
    layer: DecoderLayer, x: Tensor, where: _Places, cross: list[Tensor], cache: list[Tensor]
) -> tuple[Tensor, list[Tensor]]:
    """One decoder layer, x (B, K, D); also its cache with the new columns."""
    written: list[Tensor] = []

    def self_attend(y: Tensor) -> Tensor:
        new = layer.self_attention.project_memory(y)  # (B, H, K, D/H)
        pairs = zip(cache, new, strict=True)
        written.extend(_write(past, columns, where.write) for past, columns in pairs)
        return layer.self_attention.attend(y, written[0], written[1], where.visible)

    def cross_attend(y: Tensor) -> Tensor:
        return layer.cross_attention.attend(y, cross[0], cross[1], where.memory_mask)

    return layer.connect(x, self_attend, cross_attend, layer.feed_forward), written


def _write(past: Tensor, columns: Tensor, write: Tensor) -> Tensor:
    """Columns (B, H, K, W) into `past` (B, H, L, W) from column `write` (B,) on.

    TensorRT makes a KVCacheUpdate of this operator, which writes in place.
    """
    return symbolic(
        "::TensorScatter",
        (past, columns, write),
        {"axis": 2, "mode": "linear"},
        dtype=past.dtype,
        shape=past.shape,
        version=24,
    )
