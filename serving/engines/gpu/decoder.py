"""Sentences in flight on a device of fixed shapes; see `serving.engine.Decoder`."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from serving.engine import Candidates, Demand, Edits, EngineSpec, Ids, Room, Rows
from serving.engines.gpu.board import Board
from serving.engines.gpu.device import EDIT_ROOM, Device
from serving.engines.gpu.shapes import EncoderShape, StepPlan
from serving.errors import RequestError


@dataclasses.dataclass
class _Flight:
    """Where a sentence stands.

    Attributes:
        route: the plans that it may come to need.
        slot: on the present one's board.
        stage: which of them is the present one.
    """

    route: Sequence[StepPlan]
    slot: int
    stage: int = 0

    @property
    def plan(self) -> StepPlan:
        return self.route[self.stage]


class FixedDecoder:
    """Every sentence has a slot of a board; a step launches each board that has sentences.

    A device has one decoder at a time: they would share its boards.
    """

    def __init__(self, device: Device, spec: EngineSpec) -> None:
        device.begin()
        self._device = device
        self._shapes = device.shapes
        self._spec = spec
        self._boards = {p: Board(device, p, spec.start_id) for p in self._shapes.step}
        self._flights: list[_Flight] = []
        self._place: Ids = np.zeros(1, dtype=np.int64)
        """(N,) where each row of the last step stood among those of its sentence."""

    def room(self) -> Room:
        """The slots of boards that nobody in flight may come to need."""
        return self._shapes.room(flight.route for flight in self._flights)

    def join(self, source: Ids, demands: Sequence[Demand]) -> None:
        """Encode sentences; they follow those in flight.

        Raises:
            RequestError: a sentence is too large for all plans, or their boards are full.
        """
        routes = [self._route(demand) for demand in demands]
        if not all(map(self.room(), demands)):
            raise RequestError("more sentences at once than the compiled shapes have room for")
        self._device.begin()
        joined: dict[int, _Flight] = {}
        try:
            for shape, group in self._groups([route[0].length for route in routes]):
                lengths = np.array([demands[i].source for i in group], dtype=np.int64)
                self._device.encode(shape, source[group][:, : int(lengths.max())], lengths)
                for place, i in enumerate(group):
                    plan = routes[i][0]
                    slot = self._boards[plan].take(demands[i].source)
                    joined[i] = _Flight(routes[i], slot)
                    self._device.place(shape, place, plan, slot)
        except Exception:
            for flight in joined.values():
                self._boards[flight.plan].leave(np.array([flight.slot]))
            raise
        self._flights += [joined[i] for i in range(len(demands))]

    def select(self, sentences: Ids) -> None:
        """Keep the sentences at these places; the others' slots are free."""
        staying = set(sentences.tolist())
        for index, flight in enumerate(self._flights):
            if index not in staying:
                self._boards[flight.plan].leave(np.array([flight.slot]))
        self._flights = [self._flights[i] for i in sentences]

    def step(self, rows: Rows) -> Candidates:
        """One token for each row."""
        self._device.begin()
        place, _ = rows.places
        first = np.flatnonzero(place == 0)
        for flight, position in zip(self._flights, rows.position[first].tolist(), strict=True):
            self._grow(flight, position)
        self._close_gaps()
        parent = self._place[np.where(rows.position > 0, rows.parent, 0)]
        slot = np.array([f.slot for f in self._flights], dtype=np.int64)[rows.sentence]
        parts = list(self._rows_by_board(rows.sentence))
        for board, on_it in parts:
            inputs = (slot, place, rows.token, rows.position, parent)
            board.feed(*(array[on_it] for array in inputs))
            board.edit(slot[on_it], place[on_it], rows.edits.of(on_it) if rows.edits else None)
            board.launch()
        self._device.wait()
        self._place = place
        shape = (len(slot), self._spec.candidates)
        found = Candidates(
            np.empty(shape, dtype=np.float32),
            np.empty(shape, dtype=np.int64),
            np.empty((len(slot), EDIT_ROOM), dtype=np.float32),
        )
        for board, on_it in parts:
            outputs = self._device.outputs(board.plan)
            found.log_prob[on_it] = outputs.log_prob[slot[on_it], place[on_it]]
            found.token[on_it] = outputs.candidate[slot[on_it], place[on_it]]
            found.edited[on_it] = outputs.edited[slot[on_it], place[on_it]]
        if rows.edits and rows.edits.width > EDIT_ROOM:
            return _edited_late(found, rows.edits)
        return found

    def _route(self, demand: Demand) -> Sequence[StepPlan]:
        route = self._shapes.route(demand)
        if not route:
            raise RequestError(
                f"a sentence of {demand.source} tokens with beam size {demand.beams} and up to "
                f"{demand.output} tokens of output is larger than every compiled shape; "
                "see dragoman compile --shapes"
            )
        return route

    def _groups(self, lengths: Sequence[int]) -> Iterator[tuple[EncoderShape, list[int]]]:
        """Sentences that are encoded together: their plans' length is the same."""
        order = sorted(range(len(lengths)), key=lambda i: lengths[i])
        for length, same in itertools.groupby(order, key=lambda i: lengths[i]):
            indices = list(same)
            while indices:
                shape = self._encoder_shape(length, len(indices))
                yield shape, indices[: shape.sentences]
                indices = indices[shape.sentences :]

    def _encoder_shape(self, length: int, sentences: int) -> EncoderShape:
        """The smallest that takes all, or else the largest."""
        shapes = [s for s in self._shapes.encoder if s.length == length]
        return next((s for s in shapes if s.sentences >= sentences), shapes[-1])

    def _grow(self, flight: _Flight, position: int) -> None:
        """On to a longer board where the present one has no column left."""
        while position >= flight.plan.length:
            before = self._boards[flight.plan]
            flight.stage += 1
            flight.slot = self._boards[flight.plan].grow_from(before, flight.slot)

    def _close_gaps(self) -> None:
        for plan, board in self._boards.items():
            moves = board.close_gaps()
            for flight in self._flights:
                if moves and flight.plan == plan:
                    flight.slot = moves.get(flight.slot, flight.slot)

    def _rows_by_board(self, sentence: Ids) -> list[tuple[Board, Ids]]:
        """The boards in use, each with the indices of its rows."""
        number = {plan: n for n, plan in enumerate(self._boards)}
        of_row = np.array([number[f.plan] for f in self._flights], dtype=np.int64)[sentence]
        boards = list(self._boards.values())
        return [(boards[n], np.flatnonzero(of_row == n)) for n in np.unique(of_row).tolist()]


def _edited_late(found: Candidates, edits: Edits) -> Candidates:
    """Candidates with the edits that a plan has no room for.

    A candidate that they make worse takes its new place; one that would have moved up from beyond
    the candidates is missed.
    """
    late = slice(EDIT_ROOM, None)
    real = edits.ids[:, late] != edits.ids[:, :1]  # what fills up a row repeats its first
    log_prob = found.log_prob.copy()
    for row in np.flatnonzero(real.any(axis=1)):
        same = (found.token[row][:, None] == edits.ids[row, late]) & real[row]  # (C, M)
        candidate, edit = np.nonzero(same)
        factor, addend = edits.factor[row, late][edit], edits.addend[row, late][edit]
        log_prob[row, candidate] = log_prob[row, candidate] * factor + addend
    order = np.argsort(-log_prob, axis=1, kind="stable")
    return Candidates(
        np.take_along_axis(log_prob, order, axis=1),
        np.take_along_axis(found.token, order, axis=1),
        found.edited,
    )
