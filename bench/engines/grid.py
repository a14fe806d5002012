"""The grid: batch and beam sizes on a model of random weights, every output equally long."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import tqdm

from bench.engines.contender import (
    PRECISIONS,
    Contender,
    endless_model,
    ours_onnx,
    ours_pytorch,
)
from bench.engines.ctranslate2_engine import CTranslate2Engine
from bench.engines.hugging_face import HuggingFaceEngine
from bench.engines.rounds import Entry, Timing, Translations, take_turns, turns
from model.config import ModelConfig
from model.transformer import Transformer
from serving.errors import DragomanError

CALIBRATION_SENTENCES = 32


@dataclasses.dataclass(frozen=True)
class GridPlan:
    """What to measure.

    Attributes:
        config: the model's sizes.
        batches: sentences handed over at once.
        beams: beam sizes.
        source_tokens: of every sentence, EOS included.
        output_tokens: of every translation.
        rounds: of the contenders that matter.
        slow_rounds: of Hugging Face and PyTorch; 0 leaves them out.
        threads: of every contender.
        pause: seconds before each turn; see `take_turns`.
    """

    config: ModelConfig
    batches: Sequence[int]
    beams: Sequence[int]
    source_tokens: int
    output_tokens: int
    rounds: int
    slow_rounds: int
    threads: int
    pause: float


@dataclasses.dataclass(frozen=True)
class Cell:
    """One batch and beam size, measured."""

    batch: int
    beam: int
    timing: Timing


def run_grid(plan: GridPlan) -> list[Cell]:
    """Measure every cell.

    Raises:
        DragomanError: a contender's output is not of the length that all must write.
    """
    random = np.random.default_rng(1)
    entries = grid_entries(plan, random_sources(plan, CALIBRATION_SENTENCES, random))
    shapes = [(batch, beam) for batch in plan.batches for beam in plan.beams]
    with tqdm.tqdm(total=len(shapes) * turns(entries), unit="turn", disable=None) as bar:
        cells = []
        for batch, beam in shapes:
            bar.set_description(f"batch {batch}, beam {beam}")
            sources = random_sources(plan, batch, random)
            task = grid_task(sources, beam, plan.output_tokens)
            cells.append(Cell(batch, beam, take_turns(entries, task, plan.pause, bar.update)))
    return cells


def random_sources(plan: GridPlan, count: int, random: np.random.Generator) -> list[list[int]]:
    """Sentences of random tokens, none of them special but EOS at the end."""
    config = plan.config
    special = 1 + max(config.pad_id, config.bos_id, config.eos_id)
    shape = (count, plan.source_tokens - 1)
    ids: list[list[int]] = random.integers(special, config.vocab_size, shape).tolist()
    return [[*row, config.eos_id] for row in ids]


def grid_entries(plan: GridPlan, calibration: Sequence[Sequence[int]]) -> list[Entry]:
    """All contenders with the same weights."""
    model = endless_model(plan.config)
    entries = []
    for precision in PRECISIONS:
        ours = ours_onnx(model, precision, calibration, plan.threads)
        theirs = CTranslate2Engine(model, precision, plan.threads)
        entries += [Entry(ours, plan.rounds), Entry(theirs, plan.rounds)]
    return entries + (_slow_entries(model, plan.slow_rounds) if plan.slow_rounds else [])


def _slow_entries(model: Transformer, rounds: int) -> list[Entry]:
    return [Entry(HuggingFaceEngine(model), rounds), Entry(ours_pytorch(model), rounds)]


def grid_task(
    sources: list[list[int]], beam: int, output_tokens: int
) -> Callable[[Contender], Translations]:
    """Translate to that many tokens, and refuse an output of any other length."""

    def translate(contender: Contender) -> Translations:
        found = contender.translate(sources, beam, output_tokens)
        lengths = {len(ids) for ids in found}
        if lengths != {output_tokens}:
            raise DragomanError(
                f"{contender.name} {contender.precision} wrote {sorted(lengths)} tokens where "
                f"all must write {output_tokens}: the times cannot be compared"
            )
        return found

    return translate
