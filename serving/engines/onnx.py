"""The ONNX Runtime engine on CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from serving.engine import (
    Candidates,
    Demand,
    Edits,
    EngineSpec,
    Ids,
    Room,
    Rows,
    lengths_of,
    unlimited,
)
from serving.engines.columns import GRANULE, Columns
from serving.engines.lists import Lists, without_padding
from serving.engines.names import EDITS, FOUND, cache_names, cross_names
from serving.engines.packed import encoder_feed
from serving.engines.sessions import Graph, Sessions
from serving.engines.slots import Floats, Slots
from serving.errors import ConfigError
from serving.shortlist import Shortlist

MASKED = -1e4
"""Added to the score of a column that a row does not see: exp() of the sum is exactly 0."""

MIN_BEAMS = 2
"""Least width of the attention's grid: products of one row are summed in another order, so
that a lone sentence would differ in the last bits from the same one in company."""


class OnnxEngine:
    """Encoder and decoder step in ONNX Runtime."""

    def __init__(
        self,
        encoder: Graph,
        decoder_step: Graph,
        spec: EngineSpec,
        threads: int = 0,
        workers: int = 1,
        profile: Path | None = None,
        shortlist: Shortlist | None = None,
    ) -> None:
        """Load both graphs.

        Args:
            encoder: path of the graph, or the graph itself.
            decoder_step: as `encoder`.
            spec: the model's sizes and special ids.
            threads: of all decoders together; 0 is one a core.
            workers: decoders that may work side by side and share the threads.
            profile: how the name of a profile of the step begins; None writes none.
            shortlist: for a step graph that takes one.

        Raises:
            ConfigError: a graph is missing or of an older version, ONNX Runtime refuses it, or the
                step takes a shortlist and there is none, or the other way round.
        """
        self.spec = spec
        self.workers = workers
        self.shortlist = shortlist
        self.sessions = Sessions(encoder, decoder_step, threads, workers, profile)
        inputs = {value.name for value in self.sessions.wide.step.get_inputs()}
        if not inputs.issuperset(EDITS):
            raise ConfigError("the decoder step is of an older version; run dragoman export again")
        takes_one = "shortlist" in inputs
        if takes_one != (shortlist is not None):
            raise ConfigError(f"the decoder step takes {'a' if takes_one else 'no'} shortlist")

    def decoder(self) -> OnnxDecoder:
        """A new decoder with nothing in flight."""
        return OnnxDecoder(self)


class OnnxDecoder:
    """Sentences in flight; see `serving.engine.Decoder`.

    Every sentence has a slot of the key and value arrays; the first B slots are in use. Linear
    layers see the N rows alone; attention sees a grid (B, K) of slots and beams.
    """

    def __init__(self, engine: OnnxEngine) -> None:
        spec = engine.spec
        self._spec = spec
        self._sessions = engine.sessions
        self._cross_names = cross_names(spec.decoder_layers)
        self._past_names = cache_names(spec.decoder_layers, "past")
        self._present_names = cache_names(spec.decoder_layers, "present")
        self._cross = Slots(len(self._cross_names), spec.heads, spec.d_head)
        self._cache = Slots(len(self._past_names), spec.heads, spec.d_head)
        self._columns = Columns()
        self._lists = Lists(engine.shortlist) if engine.shortlist else None
        self._slot: Ids = np.zeros(0, dtype=np.int64)
        self._lengths: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._session: Any = None
        self._binding: Any = None
        self._bound: list[Any] = []

    def join(self, source: Ids, demands: Sequence[Demand]) -> None:
        """Encode sentences; they follow those in flight."""
        lengths = lengths_of(demands)
        count, width = len(source), max(2, int(lengths.max()))
        encoded = self._encode(source, lengths, width)
        in_flight = len(self._slot)
        total = in_flight + count
        slots = np.setdiff1d(np.arange(total), self._slot)[:count]
        if in_flight:
            self._cross.reserve(total, self._cross_width(width))
            self._cross.write(slots, encoded)
        else:
            self._cross.adopt(encoded)
        if not in_flight:
            self._sessions.begin()
        self._slot = np.concatenate((self._slot, slots))
        kept = self._lengths
        self._lengths = np.zeros(max(total, len(kept)), dtype=np.int32)
        self._lengths[: len(kept)] = kept
        self._lengths[slots] = lengths
        self._bound = []
        if self._lists:
            self._lists.join(source, demands)

    def room(self) -> Room:
        """All that memory holds."""
        return unlimited

    def select(self, sentences: Ids) -> None:
        """Keep the sentences at these places; their slots are closed up before the next step."""
        if len(self._slot) and not len(sentences):
            self._sessions.end()
        self._slot = self._slot[sentences]
        self._bound = []
        if self._lists:
            self._lists.select(sentences)

    def step(self, rows: Rows) -> Candidates:
        """One token for each row."""
        self._close_gaps()
        self._choose_session()
        place, beams = rows.places
        beams = max(MIN_BEAMS, beams)
        column, visible = self._columns.append(rows)
        if self._cache.reserve(len(self._slot), self._columns.width) or not self._bound:
            self._bind_slots()
        slot = self._slot[rows.sentence]
        cell = slot * beams + place
        grid = np.zeros(len(self._slot) * beams, dtype=np.int64)
        grid[cell] = np.arange(len(cell))
        bias = np.full((len(grid), visible.shape[1]), MASKED, dtype=np.float32)
        bias[cell] = np.where(visible, np.float32(0), np.float32(MASKED))
        edits = rows.edits or Edits.none(len(cell))
        feed: dict[str, NDArray[Any]] = {
            **(self._lists.feed(self._slot) if self._lists else {}),
            **dict(zip(EDITS, edits.arrays, strict=True)),
            "token": rows.token,
            "position": rows.position,
            "grid": grid.reshape(-1, beams),
            "cell": cell,
            "write": self._write_index(slot, column),
            "bias": bias.reshape(len(self._slot), 1, beams, -1),
        }
        if self._lists:
            feed[EDITS[0]] = self._lists.places(rows.sentence, edits.ids)
        return self._run(feed, edits.ids.shape)

    def _cross_width(self, joining: int) -> int:
        """S for those in flight and some of that width; it changes seldom, since all is copied."""
        needed = max(joining, int(self._lengths[self._slot].max()))
        now = self._cross.width
        return now if needed <= now <= 2 * needed else -(-needed // GRANULE) * GRANULE

    def _encode(self, source: Ids, lengths: Ids, width: int) -> list[Floats]:
        """Keys and values (B, H, S, D/H); tokens are packed, so that padding costs nothing."""
        feed = encoder_feed(source, lengths, width)
        shape = (len(source), self._spec.heads, width, self._spec.d_head)
        outputs = [np.empty(shape, dtype=np.float32) for _ in self._cross_names]
        session = self._sessions.now().encoder
        binding = session.io_binding()
        for name, values in feed.items():
            binding.bind_cpu_input(name, values)
        for name, output in zip(self._cross_names, outputs, strict=True):
            binding.bind_ortvalue_output(name, _value(output))
        session.run_with_iobinding(binding)
        return outputs

    def _close_gaps(self) -> None:
        """Move the last slots into those that sentences left."""
        count = len(self._slot)
        late = np.flatnonzero(self._slot >= count)
        if late.size == 0:
            return
        gaps = np.setdiff1d(np.arange(count), self._slot)
        source = self._slot[late]
        self._cross.move(source, gaps)
        self._cache.move(source, gaps)
        self._lengths[gaps] = self._lengths[source]
        self._slot[late] = gaps

    def _choose_session(self) -> None:
        """Others may have begun or ended since the last step."""
        session = self._sessions.now().step
        if session is not self._session:
            self._session, self._binding, self._bound = session, session.io_binding(), []

    def _bind_slots(self) -> None:
        """Bind all keys and values; the cache is input and output in one place."""
        count = len(self._slot)
        lengths = _value(self._lengths[:count])
        cross = [_value(array) for array in self._cross.first(count)]
        cache = [_value(array) for array in self._cache.first(count)]
        self._binding.bind_ortvalue_input("lengths", lengths)
        for name, value in zip(self._cross_names, cross, strict=True):
            self._binding.bind_ortvalue_input(name, value)
        for past, present, value in zip(self._past_names, self._present_names, cache, strict=True):
            self._binding.bind_ortvalue_input(past, value)
            self._binding.bind_ortvalue_output(present, value)
        self._bound = [lengths, *cross, *cache]

    def _write_index(self, slot: Ids, column: Ids) -> Ids:
        """Where each row's new key and value go: (N x H, 3), slot, head, column."""
        heads = self._spec.heads
        index = np.empty((len(slot), heads, 3), dtype=np.int64)
        index[:, :, 0] = slot[:, None]
        index[:, :, 1] = np.arange(heads)
        index[:, :, 2] = column[:, None]
        return index.reshape(-1, 3)

    def _run(self, feed: dict[str, NDArray[Any]], edits: tuple[int, ...]) -> Candidates:
        """Run the step with edits of that shape, (N, M)."""
        shape = (edits[0], self._spec.candidates)
        found = Candidates(
            np.empty(shape, dtype=np.float32),
            np.empty(shape, dtype=np.int64),
            np.empty(edits, dtype=np.float32),
        )
        for name, array in feed.items():
            self._binding.bind_cpu_input(name, array)
        outputs: Sequence[NDArray[Any]] = (found.log_prob, found.token, found.edited)
        for name, output in zip(FOUND, outputs, strict=True):
            self._binding.bind_ortvalue_output(name, _value(output))
        self._session.run_with_iobinding(self._binding)
        return without_padding(found, self._spec.pad_id) if self._lists else found


def _value(array: NDArray[Any]) -> Any:
    """ONNX Runtime's view of an array, which shares its memory."""
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)
