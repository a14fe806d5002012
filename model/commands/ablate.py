"""`dragoman ablate`: train variations of one model on equal budgets, and compare them."""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from model.ablation.config import AblationConfig
from model.ablation.report import read_report, write_report
from model.ablation.result import Outcome
from model.ablation.run import Run
from model.ablation.side_by_side import side_by_side
from model.data.corpus import Corpus
from model.data.vocabulary import train_vocabulary
from serving.errors import ConfigError
from serving.text import TextProcessor

log = logging.getLogger(__name__)

EXAMPLES = """\
examples:
  dragoman ablate configs/ablations-multi30k.yaml --jobs 2
      trains every row, two at a time on half of the cores each, and writes the table; run again
      after an interruption, it repeats nothing that is done

  dragoman ablate configs/ablations-multi30k.yaml --only base gru
      these rows alone
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("config", type=Path, help="YAML configuration; see configs/ablations-*")
    parser.add_argument(
        "--jobs", type=int, default=1, help="runs side by side (default: %(default)s)"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="rows to train (default: all)")


def run(arguments: argparse.Namespace) -> int:
    """Train what is not done yet, score it, and write results, table and picture.

    Exit status 1 if a run failed.

    Raises:
        DragomanError: configuration or data cannot be used; it says why.
    """
    if arguments.jobs < 1:
        raise ConfigError(f"--jobs must be at least 1, not {arguments.jobs}")
    config = AblationConfig.load(arguments.config)
    config.check_names(arguments.only or [])
    read_report(config.report)  # a fault of it is better told before hours of training
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    prepare_vocabulary(config)
    chosen = [r for r in config.runs() if not arguments.only or r.name in arguments.only]
    waiting = [r for r in chosen if Outcome.of(r).result is None]
    log.info("%d runs, of which %d are done", len(chosen), len(chosen) - len(waiting))

    def command(one: Run) -> Sequence[str]:
        worker = (sys.executable, "-m", "model.ablation.worker")
        return (*worker, str(arguments.config), one.name, str(one.seed))

    with contextlib.closing(side_by_side(waiting, arguments.jobs, command)) as runs:
        for ended in runs:
            if result := Outcome.of(ended).result:
                log.info("%s: perplexity %.2f\n%s", ended, result.perplexity, result.scores)
            write_report(config)
    write_report(config)
    return 1 if any(Outcome.of(r).result is None for r in chosen) else 0


def prepare_vocabulary(config: AblationConfig) -> None:
    """Learn the vocabulary that all runs share, unless it is there.

    Raises:
        ConfigError: the one that is there is of another size, or none can be learned.
    """
    base = config.runs()[0].config
    if config.vocabulary.exists():
        size = TextProcessor.load(config.vocabulary).vocab_size
        if size != base.vocabulary.size:
            raise ConfigError(
                f"{config.vocabulary} has {size} pieces, not {base.vocabulary.size}; choose "
                "another output, or remove that folder to start again"
            )
        return
    config.output.mkdir(parents=True, exist_ok=True)
    log.info("learning %d pieces for all rows", base.vocabulary.size)
    files = base.text_pairs()
    corpus = Corpus.read(files.source, files.target)
    train_vocabulary(corpus, base.vocabulary, config.vocabulary)
