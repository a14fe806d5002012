"""Length-bucketed batches by token count (paper, section 5.1), fixed by seed and epoch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from model.data.tokens import TokenArray
from serving.engine import Ids, pad


@dataclasses.dataclass(frozen=True)
class Pairs:
    """Tokenised sentence pairs; every side ends in EOS."""

    source: TokenArray
    target: TokenArray

    @classmethod
    def of(cls, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]) -> Pairs:
        """Pairs of sequences that lie in memory."""
        return cls(TokenArray.of(source), TokenArray.of(target))

    def __len__(self) -> int:
        return len(self.source)

    def usable(self, limit: int) -> Ids:
        """Indices of the pairs with 2 to `limit` tokens a side: neither empty nor too long."""
        source, target = self.source.lengths, self.target.lengths
        shorter, longer = np.minimum(source, target), np.maximum(source, target)
        return np.flatnonzero((shorter >= 2) & (longer <= limit))


@dataclasses.dataclass(frozen=True)
class Batch:
    """Padded tensors of B pairs.

    Attributes:
        source: (B, S) ids.
        lengths: (B,) source lengths.
        shifted: (B, T) target shifted right: BOS, then all but the last token.
        counted: (tokens,) flat indices into (B, T) of the positions that are no padding.
        target: (tokens,) the ids to predict at those positions.
    """

    source: Tensor
    lengths: Tensor
    shifted: Tensor
    counted: Tensor
    target: Tensor

    @property
    def tokens(self) -> int:
        """Target tokens, padding left out."""
        return self.target.shape[0]

    def to(self, device: torch.device) -> Batch:
        """The same batch on a device."""
        if self.source.device == device:
            return self
        moved = {f.name: getattr(self, f.name).to(device) for f in dataclasses.fields(self)}
        return Batch(**moved)


def epoch_order(pairs: Pairs, usable: Ids, batch_tokens: int, seed: int, epoch: int) -> list[Ids]:
    """Indices of each batch of an epoch over the usable pairs.

    Pairs of like lengths share a batch, whose padded source and target each hold at most
    `batch_tokens` tokens (but at least one pair); batches come in random order.
    """
    random = np.random.default_rng([seed, epoch])
    shuffled = usable[random.permutation(len(usable))]
    source, target = pairs.source.lengths_of(shuffled), pairs.target.lengths_of(shuffled)
    by_length = np.lexsort((source, target))
    order, widths = shuffled[by_length], np.maximum(source, target)[by_length].tolist()
    batches: list[Ids] = []
    first = widest = 0
    for place, width in enumerate(widths):
        widest = max(widest, width)
        if place > first and widest * (place - first + 1) > batch_tokens:
            batches.append(order[first:place])
            first, widest = place, width
    if first < len(order):
        batches.append(order[first:])
    return [batches[i] for i in random.permutation(len(batches))]


def collate(pairs: Pairs, indices: Ids, pad_id: int, bos_id: int) -> Batch:
    """Tensors of the pairs at these indices."""
    source, lengths = pad([pairs.source[i] for i in indices], pad_id)
    target, target_lengths = pad([pairs.target[i] for i in indices], pad_id)
    shifted = np.concatenate((np.full_like(target[:, :1], bos_id), target[:, :-1]), axis=1)
    counted = np.flatnonzero(np.arange(target.shape[1]) < target_lengths[:, None])
    return Batch(
        torch.from_numpy(source),
        torch.from_numpy(lengths),
        torch.from_numpy(shifted),
        torch.from_numpy(counted),
        torch.from_numpy(target.reshape(-1)[counted]),
    )
