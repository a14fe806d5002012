"""`dragoman attention`: pictures of what a model looks at in one sentence."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from model.checkpoint import load_text, load_transformer
from model.engine import TorchEngine
from model.pictures.labels import UNKNOWN, Labels
from model.pictures.maps import AttentionMaps, attention_maps
from model.pictures.page import render
from model.transformer import Transformer
from serving.commands.search_options import add_search_arguments, search_options
from serving.decoding import decoding_of
from serving.errors import DragomanError
from serving.options import DecodingOptions
from serving.search import search
from serving.text import TextProcessor, normalise

MAX_TOKENS = 100
"""Longest sentence of a picture, EOS included; cells and labels of more are too small to read."""

EXAMPLES = """\
examples:
  dragoman attention runs/tatoeba-en-de/averaged "The children are playing in the garden."
      translates and writes attention.html, to be opened in any browser

  dragoman attention CHECKPOINT "Good morning." --target "Guten Morgen." --png attention.png
      shows the attention over this translation, and writes attention-encoder.png,
      attention-decoder.png and attention-cross.png too
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("checkpoint", type=Path, help="folder of a trained model")
    parser.add_argument("source", help=f"one sentence of at most {MAX_TOKENS} tokens")
    parser.add_argument("--target", help="its translation (default: the model's own)")
    add_search_arguments(parser)
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("attention.html"),
        help="page to write, which needs no network (default: %(default)s)",
    )
    parser.add_argument(
        "--png",
        type=Path,
        metavar="NAME.png",
        help="write NAME-encoder.png, NAME-decoder.png and NAME-cross.png too, each with all "
        "layers and heads of its kind; signs that DejaVu Sans lacks become boxes",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the page, and the PNG files if they are asked for; print the target.

    Raises:
        DragomanError: checkpoint, sentence or files cannot be used; it says why.
    """
    options = search_options(arguments)
    save_figure = _figure_writer(arguments.png) if arguments.png else None
    _check_folder(arguments.output)
    transformer = load_transformer(arguments.checkpoint)
    text = load_text(arguments.checkpoint, transformer.config)
    source = _encode(text, arguments.source, "the source")
    if arguments.target is None:
        written = _translate(transformer, source, decoding_of(options, text))
        target = text.decode(written)
    else:
        written = _encode(text, arguments.target, "the target")
        target = normalise(arguments.target)
    maps = attention_maps(transformer, source, written, Labels(text, transformer.config))
    _tell_unknown(maps)
    print(target)
    name = Path(*arguments.checkpoint.parts[-2:])  # says more than "averaged", and no home folder
    page = render(maps, str(name), normalise(arguments.source), target)
    with _writing(arguments.output) as path:
        path.write_text(page, encoding="utf-8")
    if save_figure:
        for each in maps:
            with _writing(arguments.png.with_stem(f"{arguments.png.stem}-{each.kind}")) as path:
                save_figure(each, path)
    return 0


def _encode(text: TextProcessor, sentence: str, name: str) -> list[int]:
    ids = text.encode(sentence)
    if not ids:
        raise DragomanError(f"{name} is blank: give one sentence")
    _check_length(ids, name)
    return ids


def _check_length(ids: Sequence[int], name: str) -> None:
    if len(ids) > MAX_TOKENS:
        raise DragomanError(
            f"{name} has {len(ids)} tokens; a picture shows at most {MAX_TOKENS}: "
            "give a shorter sentence"
        )


def _translate(
    transformer: Transformer, source: Sequence[int], options: DecodingOptions
) -> Sequence[int]:
    """Ids of the best translation, closed by EOS unless the search was cut off."""
    [[best]] = search(TorchEngine(transformer), [source], options)
    written = best.ids if best.truncated else (*best.ids, transformer.config.eos_id)
    _check_length(written, "the translation")
    return written


def _tell_unknown(maps: Sequence[AttentionMaps]) -> None:
    cross = maps[-1]
    unknown = (cross.rows + cross.columns).count(UNKNOWN)
    if unknown:
        _say(f"tokens that the vocabulary does not know, shown as {UNKNOWN}: {unknown}")


def _figure_writer(path: Path) -> Callable[[AttentionMaps, Path], None]:
    if path.suffix != ".png":
        raise DragomanError(f"--png must name a file that ends in .png, not {path}")
    _check_folder(path)
    try:
        from model.pictures.figure import save_figure  # the page needs no Matplotlib
    except ModuleNotFoundError as error:
        raise DragomanError(
            f"--png needs the package {error.name!r}; "
            "install it with: pip install 'dragoman[pictures]'"
        ) from error
    return save_figure


def _check_folder(path: Path) -> None:
    """Find out before the model is loaded, not after."""
    if not path.parent.is_dir():
        raise DragomanError(f"cannot write {path}: there is no folder {path.parent}")


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[Path]:
    try:
        yield path
    except OSError as error:
        raise DragomanError(f"cannot write {path}: {error}") from error
    _say(f"wrote {path}")


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
