"""What is measured on a GPU: differences from ONNX Runtime in FP32, and times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from export.proof import compare_steps, groups
from serving.engine import Engine
from serving.engines.gpu.device import Device
from serving.engines.gpu.shapes import StepPlan
from serving.options import DecodingOptions
from serving.search import search

Sources = Sequence[Sequence[int]]

TOLERANCE = 0.05
"""Largest difference of a log-probability in FP16; 0.007 was seen on the shipped model."""

SAME_TRANSLATIONS = 0.9
"""Least share of sentences that FP16 translates as FP32 does."""

REPEATS = 50


def log_probabilities(reference: Engine, engine: Engine, sources: Sources) -> dict[str, Any]:
    """The largest difference of a candidate, over greedy steps."""
    worst = 0.0
    for group in groups(engine, sources):
        _, difference = compare_steps(reference, engine, group)
        worst = float(np.maximum(worst, difference))  # keeps NaN
    return {"largest_difference": worst, "passed": worst <= TOLERANCE}


def translations(reference: Engine, engine: Engine, sources: Sources) -> dict[str, Any]:
    """How many sentences are translated alike, at several beam sizes."""
    shares = {}
    for beam_size in (1, 4, 8):
        options = DecodingOptions(beam_size)
        pairs = zip(*(search(one, sources, options) for one in (reference, engine)), strict=True)
        same = [expected[0].ids == found[0].ids for expected, found in pairs]
        shares[f"beam {beam_size}"] = sum(same) / len(same)
    return {"same": shares, "passed": min(shares.values()) >= SAME_TRANSLATIONS}


def company(engine: Engine, sources: Sources) -> dict[str, Any]:
    """Whether sentences are translated alone as together."""
    options = DecodingOptions()
    together = search(engine, sources, options)
    alone = [search(engine, [ids], options)[0] for ids in sources]
    pairs = list(zip(together, alone, strict=True))
    same = sum(one[0].ids == other[0].ids for one, other in pairs)
    worst = max(abs(one[0].score - other[0].score) for one, other in pairs)
    share = same / len(pairs)
    return {"same": share, "largest_difference": worst, "passed": share >= SAME_TRANSLATIONS}


def replay(plain: Engine, graphs: Engine, sources: Sources) -> dict[str, Any]:
    """Whether CUDA graphs give bit for bit what plain calls give, over whole searches."""
    pairs = zip(*(search(one, sources, DecodingOptions()) for one in (plain, graphs)), strict=True)
    same = all(expected == found for expected, found in pairs)
    return {"same": same, "passed": same}


def step_times(device: Device, wait: Callable[[], None]) -> dict[str, Any]:
    """Milliseconds of a step of every shape, host's part left out, and tokens a second."""
    figures = {}
    for plan in device.shapes.step:
        for sentences in plan.sentences:
            seconds = _median_seconds(device, plan, sentences, wait)
            figures[f"{sentences} x {plan.beams} rows, length {plan.length}"] = {
                "milliseconds": 1e3 * seconds,
                "rows_per_second": sentences * plan.beams / seconds,
            }
    return figures


def _median_seconds(
    device: Device, plan: StepPlan, sentences: int, wait: Callable[[], None]
) -> float:
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        device.launch(plan, sentences)
        wait()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def throughput(engine: Engine, sources: Sources, beam_size: int) -> dict[str, float]:
    """Output tokens and sentences a second of whole searches, the host's part included."""
    options = DecodingOptions(beam_size)
    search(engine, sources[:8], options)
    start = time.perf_counter()
    found = search(engine, sources, options, rows=128)
    seconds = time.perf_counter() - start
    tokens = sum(len(hypotheses[0].ids) + 1 for hypotheses in found)
    return {"tokens_per_second": tokens / seconds, "sentences_per_second": len(sources) / seconds}
