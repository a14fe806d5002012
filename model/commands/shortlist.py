"""`dragoman shortlist`: which target pieces each source piece may call for."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import tqdm

from model.data.batches import Pairs
from model.data.corpus import Corpus
from model.data.tokenised import tokenise
from model.lexical import learn, passes
from serving.atomic import replacing
from serving.engine import Ids
from serving.errors import ConfigError, DragomanError
from serving.shortlist import SHORTLIST, Shortlist
from serving.text import VOCABULARY, TextProcessor

EXAMPLES = """\
examples:
  dragoman shortlist runs/tatoeba-en-de/averaged --source train.en.gz --target train.de.gz
      learns a table of translations from the training text, and writes shortlist.npz there

  dragoman shortlist CHECKPOINT --source train.en.gz --target train.de.gz --candidates 200
      longer lists: nearer to the full vocabulary, and slower

  dragoman export CHECKPOINT FOLDER --shortlist
      then exports a model that uses it
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("checkpoint", type=Path, help="folder of a trained model")
    parser.add_argument("--source", type=Path, required=True, help="training text, plain or .gz")
    parser.add_argument("--target", type=Path, required=True, help="its translation")
    parser.add_argument(
        "--candidates",
        type=int,
        default=200,
        help="most target pieces of a source piece (default: %(default)s)",
    )
    parser.add_argument(
        "--frequent",
        type=int,
        default=100,
        help="most frequent target pieces that every sentence may use (default: %(default)s)",
    )
    parser.add_argument(
        "--iterations", type=int, default=5, help="of IBM Model 1 (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Learn and write.

    Raises:
        DragomanError: checkpoint, text or a number cannot be used; it says why.
    """
    for name in ("candidates", "frequent", "iterations"):
        if getattr(arguments, name) < 1:
            raise ConfigError(f"--{name} must be at least 1, not {getattr(arguments, name)}")
    text = TextProcessor.load(arguments.checkpoint / VOCABULARY)
    pairs = tokenise(Corpus.read(arguments.source, arguments.target), text)
    if not (np.minimum(pairs.source.lengths, pairs.target.lengths) > 1).any():
        raise DragomanError(f"{arguments.source} and {arguments.target} hold no pair of sentences")
    shortlist = make_shortlist(
        pairs, text, arguments.candidates, arguments.frequent, arguments.iterations
    )
    path = arguments.checkpoint / SHORTLIST
    with replacing(path) as stream:
        stream.write(shortlist.to_bytes())
    lengths = [len(shortlist.candidates(ids)) for ids in list(pairs.source)[:1000] if len(ids)]
    average = f"{np.mean(lengths):.0f} of {text.vocab_size} pieces for a sentence on average"
    print(f"wrote {path}: {average}", file=sys.stderr)
    return 0


def make_shortlist(
    pairs: Pairs, text: TextProcessor, candidates: int, frequent: int, iterations: int
) -> Shortlist:
    """Learn a lexicon from pairs and keep the best of it; see the command's options."""
    total = passes(pairs, iterations)
    with tqdm.tqdm(total=total, unit="chunk", disable=None, file=sys.stderr) as bar:
        lexicon = learn(pairs, text.vocab_size, iterations, bar.update)
    always = np.union1d(_most_frequent(pairs, frequent), [text.eos_id, text.unk_id])
    return Shortlist(*lexicon.best(candidates), always)


def _most_frequent(pairs: Pairs, count: int) -> Ids:
    """The most frequent target pieces, at most `count`."""
    times = np.bincount(pairs.target.ids)
    best: Ids = np.argsort(-times, kind="stable")[:count]
    return best[: np.count_nonzero(times)]
