"""`dragoman translate`: texts and files in, the same in another language out."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import tqdm

from serving.commands.option_arguments import add_option_arguments, request_options
from serving.commands.output import writing
from serving.commands.translation_jobs import Job, plan
from serving.errors import DragomanError
from serving.formats.document import Document
from serving.formats.encoding import read_text, write_text
from serving.formats.registry import SUFFIXES, TEXT, read_document
from serving.lines import decode_lines, open_bytes
from serving.request_options import Options
from serving.translator import OnDone, Translation, Translator

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

  dragoman translate page.html manual.xml film.srt --output-dir de
      translates what is language and keeps tags, numbers and times

  dragoman translate de.po --output de.po --mark-fuzzy --glossary terms.tsv --protect Dragoman
      fills in what is missing and flags it for a person to check
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("files", nargs="*", type=Path, help="files, plain or .gz (default: stdin)")
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
    parser.add_argument("--threads", type=int, default=0, help="in process; 0 takes one a core")
    to = parser.add_mutually_exclusive_group()
    to.add_argument("--output", type=Path, help="file to write (default: standard output)")
    to.add_argument("--output-dir", type=Path, metavar="DIR", help="folder to write each file into")
    parser.add_argument(
        "--format",
        choices=SUFFIXES,
        help="of all files; by default, files go by their names: "
        + ", ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
        + "; text is a text a line",
    )
    parser.add_argument("--scores", action="store_true", help="write each score before its line")
    parser.add_argument(
        "--all", action="store_true", help="of .po files, also what has a translation already"
    )
    parser.add_argument(
        "--mark-fuzzy", action="store_true", help="of .po files, flag what is translated as fuzzy"
    )
    add_option_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Translate all files, or standard input.

    Raises:
        DragomanError: a file, the repository or the server cannot be used; it says why.
    """
    options = request_options(arguments)
    jobs = plan(arguments.files, arguments.output, arguments.output_dir, arguments.format)
    _check_lines_only(arguments, options, jobs)
    translator = open_translator(arguments)
    bar: tqdm.tqdm[NoReturn]
    with tqdm.tqdm(unit="text", disable=None, file=sys.stderr, smoothing=0.1) as bar:
        for job in jobs:
            if job.kind == TEXT:
                _translate_lines(job, arguments.scores, options, translator, bar.update)
            else:
                _translate_document(job, arguments, options, translator, bar.update)
    return 0


def open_translator(arguments: argparse.Namespace) -> Translator:
    """What translates, as --repository or --server asks."""
    if arguments.repository is not None:
        from serving.local import open_local  # asking a server needs no engine

        return open_local(arguments.repository, arguments.threads)
    from serving.client.translator import ServerTranslator  # in-process use needs no tritonclient

    return ServerTranslator(arguments.server)


def _check_lines_only(arguments: argparse.Namespace, options: Options, jobs: Sequence[Job]) -> None:
    several = options.n_best is not None and options.n_best > 1
    if (arguments.scores or several) and any(job.kind != TEXT for job in jobs):
        raise DragomanError("--scores and --n-best above 1 are for text, a line of which is a text")


def _translate_lines(
    job: Job, with_scores: bool, options: Options, translator: Translator, on_done: OnDone
) -> None:
    lines = _lines(job.sources)
    size = 1 if not job.sources and sys.stdin.isatty() else CHUNK
    with writing(job.target) as output:
        while chunk := list(itertools.islice(lines, size)):
            for translation in itertools.chain(*translator.translate(chunk, options, on_done)):
                output.write((_format(translation, with_scores) + "\n").encode("utf-8"))
            output.flush()


def _format(translation: Translation, with_score: bool) -> str:
    return f"{translation.score:.4f}\t{translation.text}" if with_score else translation.text


def _lines(files: Sequence[Path]) -> Iterator[str]:
    if not files:
        yield from decode_lines(sys.stdin.buffer, "standard input")
    for path in files:
        with open_bytes(path) as stream:
            yield from decode_lines(stream, str(path))


def _translate_document(
    job: Job,
    arguments: argparse.Namespace,
    options: Options,
    translator: Translator,
    on_done: OnDone,
) -> None:
    path = job.sources[0] if job.sources else None
    with contextlib.nullcontext(sys.stdin.buffer) if path is None else open_bytes(path) as stream:
        content = stream.read()
    marked, text = read_text(path, content)
    try:
        document = read_document(job.kind, text, arguments.all, arguments.mark_fuzzy)
    except DragomanError as error:
        raise DragomanError(f"{path or 'standard input'}: {error}") from error
    translations = _translations(document, options, translator, on_done)
    with writing(job.target) as output:
        output.write(write_text(marked, document.write(translations)))


def _translations(
    document: Document, options: Options, translator: Translator, on_done: OnDone
) -> list[str]:
    found = [""] * len(document.segments)
    for markup in (False, True):
        places = [n for n, segment in enumerate(document.segments) if segment.markup == markup]
        texts = [document.segments[place].text for place in places]
        chosen = dataclasses.replace(options, format="html") if markup else options
        if texts:
            results = translator.translate(texts, chosen, on_done)
            for place, (best, *_) in zip(places, results, strict=True):
                found[place] = best.text
    return found
