"""Real sentences of mixed length, all submitted at once, on a trained model."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

import tqdm

from bench.engines.agreement import Agreement, agreement
from bench.engines.contender import PRECISIONS, Ids, Precision, ours_onnx
from bench.engines.ctranslate2_engine import CTranslate2Engine
from bench.engines.rounds import Entry, Timing, take_turns, turns
from model.checkpoint import load_text, load_transformer
from model.transformer import Transformer
from serving.errors import DragomanError
from serving.lines import read_lines
from serving.shortlist import SHORTLIST, Shortlist

BATCH_SIZES = (16, 32, 64)


@dataclasses.dataclass(frozen=True)
class TextPlan:
    """What to measure.

    Attributes:
        checkpoint: folder of a trained model.
        text: source sentences, plain or gzipped.
        sentences: how many of them.
        calibration: how many of those that follow calibrate our INT8.
        beam: beam size.
        rounds: of every contender.
        threads: of every contender.
        pause: seconds before each turn; see `take_turns`.
        shortlist: whether both INT8 engines run once more with the checkpoint's shortlist.
    """

    checkpoint: Path
    text: Path
    sentences: int
    calibration: int
    beam: int
    rounds: int
    threads: int
    pause: float
    shortlist: bool = False


@dataclasses.dataclass(frozen=True)
class Trial:
    """CTranslate2, called `name`, in one of its settings; `threads` are each worker's."""

    name: str
    precision: Precision
    workers: int
    threads: int
    max_batch_size: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class TextResult:
    """What was measured.

    Attributes:
        sentences: translated.
        tokens: of their sources, EOS included.
        timing: rounds of ours and of CTranslate2 in its best settings.
        trials: all settings of CTranslate2 that were tried.
        agreement: FP32 translations and log-probabilities of both.
    """

    sentences: int
    tokens: int
    timing: Timing
    trials: list[Trial]
    agreement: Agreement


def run_text(plan: TextPlan) -> TextResult:
    """Find CTranslate2's best settings, then measure.

    Raises:
        DragomanError: checkpoint or text cannot be read, or hold too few sentences.
    """
    model = load_transformer(plan.checkpoint)
    sources, calibration = _sentences(plan, model)
    entries, trials = [], []
    variants: list[tuple[Precision, Shortlist | None]] = [(p, None) for p in PRECISIONS]
    if plan.shortlist:
        path = plan.checkpoint / SHORTLIST
        sizes = (model.config.vocab_size, model.config.eos_id)
        variants.append(("int8", Shortlist.load(path, *sizes)))
    for precision, shortlist in variants:
        theirs, tried = best_ctranslate2(model, precision, sources, plan, shortlist)
        ours = ours_onnx(model, precision, calibration, plan.threads, shortlist)
        entries += [Entry(ours, plan.rounds), Entry(theirs, plan.rounds)]
        trials += tried
    with tqdm.tqdm(total=turns(entries), unit="turn", desc="real text", disable=None) as bar:
        timing = take_turns(
            entries, lambda one: one.translate(sources, plan.beam), plan.pause, bar.update
        )
    fp32 = agreement(model, sources, plan.beam, plan.threads)
    return TextResult(len(sources), sum(map(len, sources)), timing, trials, fp32)


def _sentences(plan: TextPlan, model: Transformer) -> tuple[list[Ids], list[Ids]]:
    """Those to translate, and others for calibration."""
    text = load_text(plan.checkpoint, model.config)
    encoded = [ids for ids in map(text.encode, read_lines(plan.text)) if ids]
    end = plan.sentences + plan.calibration
    if len(encoded) < end:
        raise DragomanError(
            f"{plan.text} has {len(encoded)} sentences, but {plan.sentences} are to be translated "
            f"and {plan.calibration} more calibrate INT8; choose fewer with --sentences"
        )
    return list(encoded[: plan.sentences]), list(encoded[plan.sentences : end])


def best_ctranslate2(
    model: Transformer,
    precision: Precision,
    sources: Sequence[Ids],
    plan: TextPlan,
    shortlist: Shortlist | None = None,
) -> tuple[CTranslate2Engine, list[Trial]]:
    """The quickest settings: batch size, and threads spent on products or on batches."""
    trials: list[Trial] = []
    for workers, threads in dict.fromkeys([(1, plan.threads), (plan.threads, 1)]):
        engine = CTranslate2Engine(model, precision, threads, workers, shortlist=shortlist)
        for size in BATCH_SIZES:
            engine.max_batch_size = size
            seconds = min(_seconds(engine, sources, plan) for _ in range(2))
            trials.append(Trial(engine.name, precision, workers, threads, size, seconds))
    best = min(trials, key=lambda trial: trial.seconds)
    settings = (best.threads, best.workers, best.max_batch_size)
    engine = CTranslate2Engine(model, precision, *settings, shortlist)
    return engine, trials


def _seconds(engine: CTranslate2Engine, sources: Sequence[Ids], plan: TextPlan) -> float:
    time.sleep(plan.pause)
    began = time.perf_counter()
    engine.translate(sources, plan.beam)
    return time.perf_counter() - began
