"""The shipped `translator`, whose engine fails on one sentence and is stuck on another."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from serving.bundle import Bundle
from serving.engine import Candidates, Decoder, Demand, EngineSpec, Ids, Rows
from serving.triton.engines import Chosen
from tests.e2e.faulty_texts import POISON, STICK

_specification = importlib.util.spec_from_file_location(
    "shipped", Path(__file__).with_name("shipped.py")
)
assert _specification
assert _specification.loader
shipped = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(shipped)


class FaultyDecoder:
    """A decoder that knows whether the poison is in flight."""

    def __init__(self, decoder: Decoder, poison: Ids, stick: Ids) -> None:
        self._decoder, self._poison, self._stick = decoder, poison, stick
        self._poisoned: list[bool] = []
        self.room: Any = decoder.room

    def join(self, source: Ids, demands: Sequence[Demand]) -> None:
        rows = [row[: demand.source] for row, demand in zip(source, demands, strict=True)]
        if any(np.array_equal(row, self._stick) for row in rows):
            threading.Event().wait()
        self._decoder.join(source, demands)
        self._poisoned += [np.array_equal(row, self._poison) for row in rows]

    def select(self, sentences: Ids) -> None:
        self._decoder.select(sentences)
        self._poisoned = [self._poisoned[place] for place in sentences]

    def step(self, rows: Rows) -> Candidates:
        if any(self._poisoned):
            raise ValueError("poisoned")
        return self._decoder.step(rows)


class FaultyEngine:
    """Gives such decoders."""

    def __init__(self, engine: Any, bundle: Bundle) -> None:
        self._engine = engine
        self.spec: EngineSpec = engine.spec
        codec = bundle.text_processor()
        self._faults = [np.array(codec.encode(text)) for text in (POISON, STICK)]

    def decoder(self) -> FaultyDecoder:
        return FaultyDecoder(self._engine.decoder(), *self._faults)


def faulty_engine(triton: Any, bundle: Bundle, *arguments: Any) -> Chosen:
    """The engine that the settings name, with faults."""
    chosen: Chosen = _chosen(triton, bundle, *arguments)
    return chosen._replace(engine=FaultyEngine(chosen.engine, bundle))


_chosen = shipped.chosen_engine
shipped.chosen_engine = faulty_engine  # type: ignore[attr-defined]
TritonPythonModel = shipped.TritonPythonModel
