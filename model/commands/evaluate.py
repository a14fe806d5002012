"""`dragoman evaluate`: score translations of a test set."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import tqdm

from model.architectures import torch_engine
from model.checkpoint import CONFIG, WEIGHTS, load_model
from model.data.corpus import Corpus
from model.evaluation import TOKENIZERS, score
from serving.commands.search_options import add_search_arguments, search_options
from serving.decoding import decoding_of
from serving.request_options import Options
from serving.text import VOCABULARY, TextProcessor
from serving.translator import OnDone, SentenceTranslator, Translation, Translator

EXAMPLES = """\
examples:
  dragoman evaluate runs/tatoeba-en-de/averaged --source test.en.gz --reference test.de.gz
      a checkpoint, by PyTorch

  dragoman evaluate model_repository --source test.en.gz --reference test.de.gz
      an exported model, by ONNX Runtime, in process

  dragoman evaluate 127.0.0.1:8001 --source test.en.gz --reference test.de.gz --json
      a running server, over gRPC

  dragoman evaluate runs/multi30k-tiny/averaged --source test.2016.en.gz \\
      --reference test.2016.de.gz --beam-size 5 --tokenize none --remove-bpe
      text that was split by BPE beforehand, like the published figures of Multi30k
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "model", help="a checkpoint's folder, a model repository, or host:port of a server"
    )
    parser.add_argument("--source", type=Path, required=True, help="text, plain or .gz")
    parser.add_argument("--reference", type=Path, required=True, help="its translation")
    add_search_arguments(parser)
    parser.add_argument(
        "--tokenize",
        choices=TOKENIZERS,
        default="13a",
        help="sacreBLEU's tokenizer; none for text that is already split (default: 13a)",
    )
    parser.add_argument(
        "--remove-bpe", action="store_true", help="join what BPE split with '@@ ' before scoring"
    )
    parser.add_argument("--output", type=Path, help="write the translations to this file")
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Translate the source and print BLEU and chrF with their signatures.

    Raises:
        DragomanError: model or files cannot be used; it says why.
    """
    corpus = Corpus.read(arguments.source, arguments.reference)
    options = search_options(arguments)
    translator = open_model(arguments.model)
    with tqdm.tqdm(total=len(corpus), unit="line", disable=None, file=sys.stderr) as bar:
        found = translator.translate(corpus.source, options, on_done=bar.update)
    translations = [hypotheses[0].text for hypotheses in found]
    if arguments.output:
        arguments.output.write_text("".join(t + "\n" for t in translations), encoding="utf-8")
    scores = score(translations, corpus.target, arguments.tokenize, arguments.remove_bpe)
    print(json.dumps(dataclasses.asdict(scores), indent=2) if arguments.json else scores)
    return 0


def open_model(name: str) -> Translator:
    """A translator for a checkpoint's folder, a repository's, or a server's address.

    A checkpoint takes each line as one sentence; the others take it as a text.
    """
    path = Path(name)
    if (path / CONFIG).is_file() and (path / WEIGHTS).is_file():
        return CheckpointTranslator(path)
    if ":" in name and not path.exists():
        from serving.client.translator import ServerTranslator  # only servers need tritonclient

        return ServerTranslator(name)
    from serving.local import open_local  # a checkpoint needs no ONNX Runtime

    return open_local(path)


class CheckpointTranslator:
    """A checkpoint as a `serving.translator.Translator`."""

    def __init__(self, path: Path) -> None:
        self._codec = TextProcessor.load(path / VOCABULARY)
        self._sentences = SentenceTranslator(torch_engine(load_model(path)), self._codec)

    def translate(
        self, texts: Sequence[str], options: Options, on_done: OnDone | None = None
    ) -> list[list[Translation]]:
        """Translate each text as one sentence."""
        return self._sentences.translate(texts, decoding_of(options, self._codec), on_done)
