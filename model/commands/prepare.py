"""`dragoman prepare`: clean a corpus of any size and lay it down as token arrays for training."""

from __future__ import annotations

import argparse
import logging
import os
from pathlib import Path

from model.data.prepare.cleaning import CleaningRules
from model.data.prepare.corpora import CORPORA, NamedCorpus, download, download_tests
from model.data.prepare.inputs import ColumnFile, Input, LineFiles
from model.data.prepare.plan import Options, Plan
from model.data.prepare.preparation import prepare
from model.data.prepared import PreparedFolder
from model.data.vocabulary import TYPES, VocabularyConfig
from serving.errors import ConfigError, DragomanError

EXAMPLES = """\
examples:
  dragoman prepare data/mine --source train.en.gz --target train.de.gz --vocabulary-size 16000
      cleans two line-aligned files, learns a vocabulary from them and tokenises them

  dragoman prepare data/mine --moses europarl news --source-language en --target-language de
      takes europarl.en, europarl.de, news.en and news.de

  dragoman prepare data/mine --tsv train.tsv.gz --vocabulary v.model --exclude test.en test.de
      takes two columns and a given vocabulary; leaves out what stands in the test files

  dragoman prepare data/wmt14-en-de --corpus wmt14-en-de --vocabulary-size 37000
      downloads the corpus (and newstest2013 and 2014, which it leaves out) first

  dragoman prepare data/mine --verify
      compares the checksums of a finished folder

An interrupted command goes on where it was when it is run again.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("output", type=Path, help="folder to write, for `train: {prepared: ...}`")
    _add_inputs(parser.add_argument_group("pairs, in the order of these options"))
    _add_cleaning(parser.add_argument_group("cleaning"))
    _add_vocabulary(parser.add_argument_group("vocabulary"))
    parser.add_argument(
        "--shard-pairs",
        type=int,
        default=Options.shard_pairs,
        metavar="N",
        help="an interrupted command loses the work of N pairs at most (default: %(default)s)",
    )
    parser.add_argument("--threads", type=int, help="for tokenising (default: one a core)")
    parser.add_argument(
        "--verify", action="store_true", help="compare the checksums of a finished folder"
    )


def _add_inputs(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--source", type=Path, nargs="+", default=[], help="text, plain or .gz")
    group.add_argument("--target", type=Path, nargs="+", default=[], help="its translations")
    group.add_argument(
        "--tsv", type=Path, nargs="+", default=[], help="source and target with a tab between"
    )
    group.add_argument(
        "--moses", nargs="+", default=[], metavar="PREFIX", help="pairs PREFIX.en and PREFIX.de"
    )
    group.add_argument("--source-language", metavar="CODE", help="ending of --moses files")
    group.add_argument("--target-language", metavar="CODE", help="ending of --moses files")
    group.add_argument("--corpus", choices=CORPORA, help="a corpus to download")
    group.add_argument(
        "--downloads",
        type=Path,
        default=Path("data/downloads"),
        metavar="DIR",
        help="where downloaded files are kept (default: %(default)s)",
    )


def _add_cleaning(group: argparse._ArgumentGroup) -> None:
    rules = CleaningRules()
    group.add_argument(
        "--max-characters",
        type=int,
        default=rules.max_characters,
        metavar="N",
        help="longest side of a pair (default: %(default)s)",
    )
    group.add_argument(
        "--max-ratio",
        type=float,
        default=rules.max_ratio,
        metavar="R",
        help="of the characters of the longer side to the shorter (default: %(default)s)",
    )
    group.add_argument(
        "--exclude",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="leave out pairs of which a side is a line of these (test sets)",
    )
    group.add_argument(
        "--skip-invalid",
        action="store_true",
        help="leave out pairs that are not UTF-8 or not two columns, instead of stopping",
    )


def _add_vocabulary(group: argparse._ArgumentGroup) -> None:
    learned = VocabularyConfig()
    group.add_argument("--vocabulary", type=Path, metavar="FILE", help="take this; learn none")
    group.add_argument(
        "--vocabulary-size",
        type=int,
        default=learned.size,
        metavar="V",
        help="pieces of source and target together (default: %(default)s)",
    )
    group.add_argument(
        "--vocabulary-type",
        choices=TYPES,
        default=learned.type,
        help="algorithm (default: %(default)s)",
    )
    group.add_argument(
        "--placeholders",
        type=int,
        default=learned.placeholders,
        metavar="N",
        help="reserved symbols (default: %(default)s)",
    )
    group.add_argument(
        "--sample-pairs",
        type=int,
        default=Options.sample_pairs,
        metavar="N",
        help="pairs that it is learned from at most (default: %(default)s)",
    )
    group.add_argument("--seed", type=int, default=Options.seed, help="of that sample")


def run(arguments: argparse.Namespace) -> int:
    """Prepare, and print which pairs were removed and why.

    Raises:
        DragomanError: inputs, options or output cannot be used; it says why.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    if arguments.verify:
        folder = PreparedFolder.open(arguments.output)
        folder.verify()
        print(f"{arguments.output}: {folder.manifest.pairs:,} pairs, all files as they were")
        return 0
    options = _options(arguments)
    inputs, excluded = _inputs(arguments), list(arguments.exclude)
    if arguments.corpus:
        corpus: NamedCorpus = CORPORA[arguments.corpus]
        excluded += download_tests(corpus, arguments.downloads)
        inputs += download(corpus, arguments.downloads)
    threads = arguments.threads or os.cpu_count() or 1
    try:
        report = prepare(Plan(inputs, excluded, options), arguments.output, threads)
    except OSError as error:
        raise DragomanError(f"cannot write {arguments.output}: {error}") from error
    print(report)
    return 0


def _options(arguments: argparse.Namespace) -> Options:
    learned = VocabularyConfig(
        size=arguments.vocabulary_size,
        type=arguments.vocabulary_type,
        placeholders=arguments.placeholders,
    )
    return Options(
        cleaning=CleaningRules(arguments.max_characters, arguments.max_ratio),
        vocabulary=arguments.vocabulary or learned,
        sample_pairs=arguments.sample_pairs,
        seed=arguments.seed,
        skip_invalid=arguments.skip_invalid,
        shard_pairs=arguments.shard_pairs,
    )


def _inputs(arguments: argparse.Namespace) -> list[Input]:
    if len(arguments.source) != len(arguments.target):
        raise ConfigError("--source and --target must name as many files as each other")
    ends = (arguments.source_language, arguments.target_language)
    if arguments.moses and None in ends:
        raise ConfigError("--moses needs --source-language and --target-language")
    inputs: list[Input] = list(map(LineFiles, arguments.source, arguments.target))
    inputs += [ColumnFile(path) for path in arguments.tsv]
    inputs += [LineFiles(*(_moses(p, end) for end in ends)) for p in arguments.moses]
    return inputs


def _moses(prefix: str, language: str) -> Path:
    """PREFIX.LANGUAGE, or that with .gz if only such a file exists."""
    path, zipped = Path(f"{prefix}.{language}"), Path(f"{prefix}.{language}.gz")
    return zipped if zipped.exists() and not path.exists() else path
