"""The slots of one step plan, and what the sentences on them feed the next step."""

from __future__ import annotations

import bisect

import numpy as np

from serving.engine import Edits, Ids
from serving.engines.gpu.ancestry import Ancestry
from serving.engines.gpu.device import EDIT_ROOM, Device
from serving.engines.gpu.shapes import StepPlan


class Board:
    """Which slots are taken; the lowest are taken first.

    Attributes:
        plan: whose slots they are.
    """

    def __init__(self, device: Device, plan: StepPlan, start_id: int) -> None:
        self.plan = plan
        self._device = device
        self._start_id = start_id
        self._inputs = device.inputs(plan)
        self._ancestry = Ancestry(self._inputs.visible)
        self._taken = np.zeros(plan.sentences[-1], dtype=bool)
        self._edited = True
        """Whether edits of an earlier step may stand in the inputs."""
        self._forget_edits()
        self._clear(np.arange(len(self._taken)))

    @property
    def sentences(self) -> int:
        """Sentences on it."""
        return int(self._taken.sum())

    def take(self, length: int) -> int:
        """A free slot, the lowest, for a sentence of that many source tokens."""
        slot = int(np.flatnonzero(~self._taken)[0])
        self._taken[slot] = True
        self._inputs.lengths[slot] = length
        return slot

    def leave(self, slots: Ids) -> None:
        """Free slots."""
        self._taken[slots] = False
        self._clear(slots)

    def grow_from(self, other: Board, source: int) -> int:
        """A sentence of a shorter board moves here; its new slot."""
        target = self.take(int(other._inputs.lengths[source]))
        self._device.grow(other.plan, source, self.plan, target)
        self._ancestry.take_over(other._ancestry, source, target)
        other.leave(np.array([source]))
        return target

    def close_gaps(self) -> dict[int, int]:
        """Move the last sentences into gaps where a smaller profile then suffices; old: new."""
        count = self.sentences
        if not count or self._profile(count) == self._profile(self._reach()):
            return {}
        limit = self._profile(count)
        gaps = np.flatnonzero(~self._taken[:limit])
        late = limit + np.flatnonzero(self._taken[limit:])
        moves = dict(zip(late.tolist(), gaps.tolist(), strict=False))
        for source, target in moves.items():
            self._taken[target] = True
            self._inputs.lengths[target] = self._inputs.lengths[source]
            self._device.move(self.plan, source, target)
            self._ancestry.move(source, target)
        self.leave(late)
        return moves

    def feed(self, slot: Ids, place: Ids, token: Ids, position: Ids, parent: Ids) -> None:
        """The next step's rows; see `Ancestry.append`."""
        inputs = self._inputs
        inputs.token[slot] = self._start_id
        inputs.token[slot, place] = token
        inputs.position[slot] = position
        inputs.write[slot] = position * self.plan.beams
        self._ancestry.append(slot, place, parent, position)

    def edit(self, slot: Ids, place: Ids, edits: Edits | None) -> None:
        """The edits of the next step's rows."""
        self._forget_edits()
        if edits is None:
            return
        inputs, self._edited = self._inputs, True
        arrays = (inputs.edit_id, inputs.edit_factor, inputs.edit_addend)
        fitting = Edits.none(len(slot), EDIT_ROOM)
        fitting.put(np.arange(len(slot)), edits)
        for array, values in zip(arrays, fitting.arrays, strict=True):
            array[slot, place] = values

    def _forget_edits(self) -> None:
        if self._edited:
            inputs, self._edited = self._inputs, False
            inputs.edit_id[...], inputs.edit_factor[...], inputs.edit_addend[...] = 0, 1, 0

    def launch(self) -> None:
        """Run the step over the smallest profile that reaches all sentences."""
        self._device.launch(self.plan, self._profile(self._reach()))

    def _reach(self) -> int:
        """Slots up to the last that is taken."""
        return int(np.flatnonzero(self._taken)[-1]) + 1

    def _profile(self, slots: int) -> int:
        sizes = self.plan.sentences
        return sizes[bisect.bisect_left(sizes, slots)]

    def _clear(self, slots: Ids) -> None:
        """Rows that nobody reads: harmless ones, at position 0."""
        inputs = self._inputs
        inputs.token[slots] = self._start_id
        inputs.position[slots] = 0
        inputs.write[slots] = 0
        inputs.lengths[slots] = 1
        self._ancestry.forget(slots)
