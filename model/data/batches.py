"""Length-bucketed batches by token count (paper, section 5.1), fixed by seed and epoch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from serving.engine import Ids, pad


@dataclasses.dataclass(frozen=True)
class Pairs:
    """Tokenised sentence pairs; every side ends in EOS."""

    source: Sequence[Sequence[int]]
    target: Sequence[Sequence[int]]

    def shorter_than(self, limit: int) -> Pairs:
        """Only the pairs with 2 to `limit` tokens a side: neither empty nor too long."""
        kept = [
            (s, t)
            for s, t in zip(self.source, self.target, strict=True)
            if 2 <= len(s) <= limit and 2 <= len(t) <= limit
        ]
        return Pairs([s for s, _ in kept], [t for _, t in kept])


@dataclasses.dataclass(frozen=True)
class Batch:
    """Padded tensors of B pairs.

    Attributes:
        source: (B, S) ids.
        lengths: (B,) source lengths.
        shifted: (B, T) target shifted right: BOS, then all but the last token.
        mask: (B, T) True at target positions that count.
        target: (tokens,) the ids to predict, of the True positions in order.
    """

    source: Tensor
    lengths: Tensor
    shifted: Tensor
    mask: Tensor
    target: Tensor

    @property
    def tokens(self) -> int:
        """Target tokens, padding left out."""
        return self.target.shape[0]


def epoch_order(pairs: Pairs, batch_tokens: int, seed: int, epoch: int) -> list[Ids]:
    """Indices of each batch of an epoch.

    Pairs of like lengths share a batch, whose padded source and target each hold at most
    `batch_tokens` tokens (but at least one pair); batches come in random order.
    """
    random = np.random.default_rng([seed, epoch])
    source = np.array([len(s) for s in pairs.source])
    target = np.array([len(t) for t in pairs.target])
    shuffled = random.permutation(len(source))
    order = shuffled[np.lexsort((source[shuffled], target[shuffled]))]
    batches: list[Ids] = []
    first = widest = 0
    for place, index in enumerate(order):
        widest_now = max(widest, int(source[index]), int(target[index]))
        if place > first and widest_now * (place - first + 1) > batch_tokens:
            batches.append(order[first:place])
            first, widest_now = place, max(int(source[index]), int(target[index]))
        widest = widest_now
    if first < len(order):
        batches.append(order[first:])
    return [batches[i] for i in random.permutation(len(batches))]


def collate(pairs: Pairs, indices: Ids, pad_id: int, bos_id: int) -> Batch:
    """Tensors of the pairs at these indices."""
    source, lengths = pad([pairs.source[i] for i in indices], pad_id)
    target, target_lengths = pad([pairs.target[i] for i in indices], pad_id)
    shifted = np.concatenate((np.full_like(target[:, :1], bos_id), target[:, :-1]), axis=1)
    mask = np.arange(target.shape[1]) < target_lengths[:, None]
    return Batch(
        torch.from_numpy(source),
        torch.from_numpy(lengths),
        torch.from_numpy(shifted),
        torch.from_numpy(mask),
        torch.from_numpy(target[mask]),
    )
