"""The `dragoman` command: finds the subcommand and hands over."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import sys
from collections.abc import Sequence
from types import ModuleType

from serving.errors import DragomanError


@dataclasses.dataclass(frozen=True)
class Command:
    """A subcommand: the module that holds it is imported only when it runs.

    So serving loads no PyTorch, though training commands belong to the same program.
    """

    module: str
    help: str
    extra: str


COMMANDS = {
    "prepare": Command(
        "model.commands.prepare", "clean and tokenise a corpus of any size for training", "prepare"
    ),
    "train": Command("model.commands.train", "train a model from sentence pairs", "training"),
    "evaluate": Command(
        "model.commands.evaluate", "score a model on a test set with sacreBLEU and chrF", "training"
    ),
    "attention": Command(
        "model.commands.attention", "draw what a model looks at in one sentence", "training"
    ),
    "shortlist": Command(
        "model.commands.shortlist",
        "learn which target pieces a source sentence may call for, to translate faster",
        "training",
    ),
    "ablate": Command(
        "model.commands.ablate",
        "train variations of a model on equal budgets and compare them",
        "training,pictures",
    ),
    "export": Command(
        "export.commands.export",
        "turn a checkpoint into ONNX graphs for serving",
        "export",
    ),
    "recover": Command(
        "export.commands.recover",
        "turn an exported model back into a checkpoint, to train it further",
        "export",
    ),
    "calibrate": Command(
        "model.commands.calibrate",
        "learn how far an exported model's translations can be trusted",
        "training,serving",
    ),
    "compile": Command(
        "export.commands.compile",
        "build TensorRT plans of an exported model, on the GPU that will run them",
        "serving-gpu",
    ),
    "serve": Command(
        "serving.commands.serve",
        "serve a model repository over HTTP and gRPC",
        "serving",
    ),
    "health": Command(
        "serving.commands.health", "ask a running server for a translation, as a probe", "serving"
    ),
    "translate": Command(
        "serving.commands.translate", "translate lines of files or standard input", "serving"
    ),
    "load": Command(
        "serving.commands.load",
        "put load on a running server and measure how it answers",
        "serving",
    ),
    "bench": Command("bench.commands.bench", "measure speed and compare engines", "bench"),
}

PACKAGES = ("model", "export", "serving", "bench")
"""Ours: that one of them is missing is no matter of extras."""

EXAMPLES = """\
examples:
  dragoman train configs/tatoeba-en-de.yaml
  dragoman export runs/tatoeba-en-de/averaged model_repository/translator/1
  dragoman serve model_repository
  echo "Good morning." | dragoman translate

`dragoman COMMAND --help` shows the options and examples of a command.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; returns the exit status: 2 for an error that the user can mend."""
    try:
        arguments = parse(list(sys.argv[1:] if argv is None else argv))
        status: int = arguments.run(arguments)
        return status
    except DragomanError as error:
        print(f"dragoman: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; nothing is left to say
        return 141


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; `run` of the result is the subcommand's function.

    Raises:
        DragomanError: the subcommand needs a package that is not installed.
        SystemExit: help was asked for, or the words are wrong.
    """
    name = words[0] if words else ""
    module = load(COMMANDS[name]) if name in COMMANDS else None
    return _parser(name, module).parse_args(words)


def load(command: Command) -> ModuleType:
    """The module of a subcommand.

    Raises:
        DragomanError: it needs a package that is not installed; names the extra.
    """
    try:
        return importlib.import_module(command.module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in PACKAGES:
            raise
        raise DragomanError(
            f"this command needs the package {error.name!r}; "
            f"install it with: pip install 'dragoman[{command.extra}]'"
        ) from error


def _parser(name: str, module: ModuleType | None) -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="dragoman",
        description="Train, export and serve classic Transformer translation models.",
        epilog=EXAMPLES,
        formatter_class=style,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for key, command in COMMANDS.items():
        epilog = module.EXAMPLES if module is not None and key == name else None
        sub = commands.add_parser(
            key, help=command.help, description=command.help, epilog=epilog, formatter_class=style
        )
        if module is not None and key == name:
            module.add_arguments(sub)
            sub.set_defaults(run=module.run)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
