"""The batches that make one optimiser step."""

from __future__ import annotations

import dataclasses

from model.config import ModelConfig
from model.data.batches import Batch, Pairs, collate
from serving.engine import Ids


@dataclasses.dataclass(frozen=True)
class Group:
    """The batches of one step, and the place in the data after them.

    Attributes:
        pairs: where the batches are taken from.
        members: indices of the pairs of each batch.
        config: knows the ids of padding and BOS.
        next_epoch: epoch of the step after this one.
        next_group: place of the step after this one in that epoch.
    """

    pairs: Pairs
    members: list[Ids]
    config: ModelConfig
    next_epoch: int
    next_group: int

    def __len__(self) -> int:
        return len(self.members)

    @property
    def tokens(self) -> int:
        """Target tokens of all batches."""
        return sum(int(self.pairs.target.lengths_of(indices).sum()) for indices in self.members)

    def batch(self, place: int) -> Batch:
        """One of the batches, as tensors."""
        return collate(self.pairs, self.members[place], self.config.pad_id, self.config.bos_id)
