"""What a decoder of fixed shapes needs of a device: run plans, and copy between their slots."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from serving.engine import Ids
from serving.engines.gpu.shapes import EncoderShape, Shapes, StepPlan

EDIT_ROOM = 64
"""Edits of a row that a plan makes before it chooses; further ones are made to its candidates."""


class StepInputs(NamedTuple):
    """A board's inputs, in host memory that the device reads when a step is launched.

    Attributes:
        token: (B, K) int32.
        position: (B,) int32.
        write: (B,) int64, K x position.
        lengths: (B,) int32 source lengths; 1 where nobody stands.
        visible: (B, 1, K, L) bool.
        edit_id: (B, K, `EDIT_ROOM`) int32; see `serving.engine.Edits`.
        edit_factor: (B, K, `EDIT_ROOM`) float32.
        edit_addend: (B, K, `EDIT_ROOM`) float32.
    """

    token: NDArray[np.int32]
    position: NDArray[np.int32]
    write: NDArray[np.int64]
    lengths: NDArray[np.int32]
    visible: NDArray[np.bool_]
    edit_id: NDArray[np.int32]
    edit_factor: NDArray[np.float32]
    edit_addend: NDArray[np.float32]


class StepOutputs(NamedTuple):
    """A board's outputs, in host memory that the device has written once `wait` returns.

    Attributes:
        log_prob: (B, K, C) float32.
        candidate: (B, K, C) int32.
        edited: (B, K, `EDIT_ROOM`) float32.
    """

    log_prob: NDArray[np.float32]
    candidate: NDArray[np.int32]
    edited: NDArray[np.float32]


class Device(Protocol):
    """Runs one model's plans. Each step plan has a board of slots: keys, values, inputs, outputs.

    Everything but `wait` may return before it is done; all is done in the order of the calls.
    """

    @property
    def shapes(self) -> Shapes:
        """What it has plans for."""
        ...

    def begin(self) -> None:
        """The calling thread works with this device from now on."""
        ...

    def inputs(self, plan: StepPlan) -> StepInputs:
        """A board's inputs, for its largest number of sentences."""
        ...

    def outputs(self, plan: StepPlan) -> StepOutputs:
        """A board's outputs."""
        ...

    def encode(self, shape: EncoderShape, source: Ids, lengths: Ids) -> None:
        """Encode padded ids (up to B, up to S) of lengths (up to B,)."""
        ...

    def place(self, shape: EncoderShape, index: int, plan: StepPlan, slot: int) -> None:
        """The sentence at that index of the last `encode` takes a slot; lengths are equal."""
        ...

    def move(self, plan: StepPlan, source: int, target: int) -> None:
        """Keys and values of a sentence go to another slot."""
        ...

    def grow(self, plan: StepPlan, source: int, longer: StepPlan, target: int) -> None:
        """Keys and values of a sentence go to a longer board of as many beams."""
        ...

    def launch(self, plan: StepPlan, sentences: int) -> None:
        """Run one step over the first slots, a number that the plan has a profile for."""
        ...

    def wait(self) -> None:
        """Until all is done."""
        ...
