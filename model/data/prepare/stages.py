"""The stages of a preparation; each goes on after the last whole shard."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np
import sentencepiece
import tqdm

from model.data.prepare.cleaning import Cleaner, Pair, Reason
from model.data.prepare.duplicates import Digests, SeenPairs, digests_of
from model.data.prepare.inputs import Input, Row
from model.data.prepare.plan import Plan
from model.data.prepare.report import Report
from model.data.prepare.shards import Shards
from model.data.tokens import TokenArray, id_type
from model.data.vocabulary import learn_pieces
from serving.atomic import copy_file
from serving.errors import ConfigError, DragomanError
from serving.lines import read_lines
from serving.text import TextProcessor, normalise

log = logging.getLogger(__name__)

SIDES = ("source", "target")

Place = tuple[Input, int]


def clean(plan: Plan, shards: Shards, counts: Iterable[int]) -> Report:
    """Clean all shards that are left; `counts` are the pairs of each input.

    Raises:
        DragomanError: a pair is not UTF-8 or not two columns, unless such pairs are to be
            removed; a file has changed since its pairs were counted; or no pair is left.
    """
    total, done = sum(counts), shards.cleaned
    excluded = {normalise(line) for path in plan.excluded for line in read_lines(path)}
    cleaner = Cleaner(plan.options.cleaning, excluded - {""})
    seen = SeenPairs(shards.digests())
    rows = itertools.islice(_rows(plan.inputs), done * shards.size, None)
    with _bar("cleaning", total, done * shards.size) as bar:
        for shard in range(done, shards.count):
            chunk = itertools.islice(rows, shards.size)
            pairs, digests, report = _clean(chunk, cleaner, seen, plan.options.skip_invalid)
            if report.read != min(shards.size, total - shard * shards.size):
                raise DragomanError("a file of pairs has become shorter while it was read")
            shards.write_pairs(shard, pairs, digests, report)
            bar.update(report.read)
    report = Report.total(shards.reports())
    if not report.kept:
        raise DragomanError(f"no pair is left: {report}")
    return report


def _rows(inputs: Iterable[Input]) -> Iterator[tuple[Place, Row]]:
    for source in inputs:
        for number, row in enumerate(source.rows()):
            yield (source, number), row


def _clean(
    rows: Iterable[tuple[Place, Row]], cleaner: Cleaner, seen: SeenPairs, skip_invalid: bool
) -> tuple[list[Pair], Digests, Report]:
    pairs: list[Pair] = []
    places: list[Place] = []
    report = Report()
    for (source, number), row in rows:
        report.read += 1
        found = cleaner.clean(row)
        if isinstance(found, Pair):
            pairs.append(found)
            places.append((source, number))
            continue
        place = source.place(found.side, number)
        if found.reason in (Reason.MALFORMED, Reason.INVALID) and not skip_invalid:
            what = "not UTF-8 (%s)" if found.reason == Reason.INVALID else "%s"
            raise DragomanError(
                f"{place}: {what % found.detail}; --skip-invalid removes and counts such pairs"
            )
        report.remove(found.reason, place, found.detail)
    digests = digests_of(pairs)
    new = seen.add(digests)
    for index in np.flatnonzero(~new):
        source, number = places[index]
        report.remove(Reason.DUPLICATE, source.place(0, number), pairs[index].source)
    return list(itertools.compress(pairs, new)), digests[new], report


def vocabulary(plan: Plan, shards: Shards, path: Path) -> TextProcessor:
    """Learn the pieces from a sample of the cleaned pairs, or take those that are given.

    Raises:
        ConfigError: SentencePiece refuses the size, or the given model has not padding, BOS and
            EOS as its ids 0, 1 and 2.
    """
    if path.exists():
        return TextProcessor.load(path)
    wanted = plan.options.vocabulary
    if isinstance(wanted, Path):
        return _copied_vocabulary(wanted, path)
    lines = _sample(shards, plan.options.sample_pairs, plan.options.seed)
    return learn_pieces(lines, wanted, path)


def _copied_vocabulary(given: Path, path: Path) -> TextProcessor:
    text = TextProcessor.load(given)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(given))
    if (pieces.pad_id(), pieces.bos_id(), pieces.eos_id()) != (0, 1, 2):
        raise ConfigError(f"{given} must have padding, BOS and EOS as its ids 0, 1 and 2")
    copy_file(given, path)
    return text


def _sample(shards: Shards, count: int, seed: int) -> Iterator[str]:
    """Both sides of pairs drawn without replacement, in the order of the corpus."""
    kept = [report.kept for report in shards.reports()]
    count = min(count, sum(kept))
    log.info("learning the vocabulary from %d of %d pairs", count, sum(kept))
    chosen = np.sort(np.random.default_rng(seed).choice(sum(kept), count, replace=False))
    parts = np.split(chosen, np.searchsorted(chosen, np.cumsum(kept)))
    begins = np.cumsum([0, *kept])
    for shard in range(shards.count):
        pairs = shards.pairs(shard) if len(parts[shard]) else []
        for index in parts[shard] - begins[shard]:
            yield from pairs[index]


def tokenise(text: TextProcessor, shards: Shards, threads: int) -> None:
    """Write the token ids of all shards that have none."""
    dtype = id_type(text.vocab_size)
    left = shards.untokenised()
    with _bar("tokenising", shards.count, shards.count - len(left), unit="shard") as bar:
        for shard in left:
            pairs, arrays = shards.pairs(shard), {}
            for place, side in enumerate(SIDES):
                texts = [pair[place] for pair in pairs]
                tokens = TokenArray.of(text.encode_all(texts, threads))
                arrays[f"{side}.ids"] = tokens.ids.astype(dtype)
                arrays[f"{side}.lengths"] = tokens.lengths
            shards.write_tokens(shard, arrays)
            bar.update()


def _bar(stage: str, total: int, done: int, unit: str = "pair") -> tqdm.tqdm[NoReturn]:
    return tqdm.tqdm(
        desc=stage, total=total, initial=done, unit=unit, disable=None, file=sys.stderr
    )
