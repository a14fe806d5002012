"""Keys and values in GPU memory: several arrays of equal shape, one after another."""

from __future__ import annotations

import dataclasses

from serving.engines.gpu.cuda import Cuda


@dataclasses.dataclass(frozen=True)
class Stack:
    """Arrays (slots, H, W, D/H); a sentence's slot is one row of each.

    Attributes:
        address: of the first array.
        arrays: how many.
        slots: of each array.
        heads: H.
        head_bytes: of one head of one slot, W x D/H numbers.
    """

    address: int
    arrays: int
    slots: int
    heads: int
    head_bytes: int

    @classmethod
    def allocate(cls, cuda: Cuda, arrays: int, slots: int, heads: int, head_bytes: int) -> Stack:
        """All zero, so that a masked column is never infinite."""
        address = cuda.device_memory(arrays * slots * heads * head_bytes)
        return cls(address, arrays, slots, heads, head_bytes)

    @property
    def slot_bytes(self) -> int:
        """Of one slot of one array."""
        return self.heads * self.head_bytes

    @property
    def array_bytes(self) -> int:
        """Of one array, and from one to the next."""
        return self.slots * self.slot_bytes

    def array(self, index: int) -> int:
        """The address of an array."""
        return self.address + index * self.array_bytes

    def copy_to(self, cuda: Cuda, source: int, target: Stack, slot: int) -> None:
        """A slot to one of another stack of as many arrays and heads, at least as wide."""
        start, end = self.address + source * self.slot_bytes, slot * target.slot_bytes
        if self.head_bytes == target.head_bytes:
            pitches = (target.array_bytes, self.array_bytes)
            place = (target.address + end, pitches[0], start, pitches[1])
            cuda.copy_lines(*place, self.slot_bytes, self.arrays)
            return
        for index in range(self.arrays):
            line = (target.array(index) + end, target.head_bytes)
            cuda.copy_lines(
                *line,
                start + index * self.array_bytes,
                self.head_bytes,
                self.head_bytes,
                self.heads,
            )
