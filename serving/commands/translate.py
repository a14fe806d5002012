"""`dragoman translate`: lines in, translated lines out."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NoReturn

import tqdm

from serving.bundle import Bundle, find_bundle
from serving.commands.search_options import add_search_arguments, search_options
from serving.engine import default_workers
from serving.errors import DragomanError
from serving.lines import decode_lines
from serving.translator import LocalTranslator, Translation, Translator

DEFAULT_SERVER = "127.0.0.1:8001"

CHUNK = 2000
"""Lines read before their translations are written, unless a person types them."""

EXAMPLES = """\
examples:
  echo "Good morning." | dragoman translate
      asks the server that `dragoman serve` has started on this machine

  dragoman translate --repository model_repository book.txt --output buch.txt
      translates in this process, without a server

  dragoman translate --n-best 3 --beam-size 5 --scores < lines.txt
      writes three translations a line, each after its score and a tab
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("files", nargs="*", type=Path, help="text, plain or .gz (default: stdin)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--server",
        default=DEFAULT_SERVER,
        metavar="HOST:PORT",
        help="gRPC address of a running server (default: %(default)s)",
    )
    where.add_argument(
        "--repository", type=Path, metavar="DIR", help="translate in process with this repository"
    )
    parser.add_argument("--output", type=Path, help="file to write (default: standard output)")
    add_search_arguments(parser)
    parser.add_argument(
        "--n-best", type=int, default=1, metavar="N", help="translations a line (default: 1)"
    )
    parser.add_argument("--scores", action="store_true", help="write each score before its line")
    parser.add_argument("--threads", type=int, default=0, help="in process; 0 takes one a core")


def run(arguments: argparse.Namespace) -> int:
    """Translate all files, or standard input.

    Raises:
        DragomanError: a file, the repository or the server cannot be used; it says why.
    """
    options = search_options(arguments, arguments.n_best)
    translator = open_translator(arguments)
    with contextlib.ExitStack() as stack:
        bar: tqdm.tqdm[NoReturn] = stack.enter_context(
            tqdm.tqdm(unit="line", disable=None, file=sys.stderr, smoothing=0.1)
        )
        output = _output(arguments.output, stack)
        lines = _lines(arguments.files)
        while chunk := list(itertools.islice(lines, _chunk_size(arguments.files))):
            found = translator.translate(chunk, options, on_done=bar.update)
            for translations in found:
                for translation in translations:
                    output.write(_format(translation, arguments.scores) + "\n")
            output.flush()
    return 0


def open_translator(arguments: argparse.Namespace) -> Translator:
    """The translator that --repository or --server asks for."""
    if arguments.repository is not None:
        bundle = Bundle.open(find_bundle(arguments.repository))
        workers = default_workers(arguments.threads)
        engine = bundle.engine(arguments.threads, workers)
        return LocalTranslator(engine, bundle.text_processor(), workers)
    from serving.client import TritonTranslator  # in-process use needs no tritonclient

    return TritonTranslator(arguments.server)


def _format(translation: Translation, with_score: bool) -> str:
    return f"{translation.score:.4f}\t{translation.text}" if with_score else translation.text


def _chunk_size(files: list[Path]) -> int:
    return 1 if not files and sys.stdin.isatty() else CHUNK


def _output(path: Path | None, stack: contextlib.ExitStack) -> IO[str]:
    if path is None:
        return sys.stdout
    try:
        return stack.enter_context(path.open("w", encoding="utf-8"))
    except OSError as error:
        raise DragomanError(f"cannot write {path}: {error}") from error


def _lines(files: list[Path]) -> Iterator[str]:
    if not files:
        yield from decode_lines(sys.stdin.buffer, "standard input")
    for path in files:
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
                yield from decode_lines(stream, str(path))
        except (OSError, EOFError) as error:
            raise DragomanError(f"cannot read {path}: {error}") from error
