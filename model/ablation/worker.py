"""The process of one run: `python -m model.ablation.worker CONFIG NAME SEED`.

A process of its own, so that runs side by side share no interpreter and one that dies takes
no other with it.
"""

from __future__ import annotations

import functools
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import torch

from model.ablation.config import AblationConfig
from model.ablation.lengths import scores_by_length
from model.ablation.result import Result
from model.ablation.run import Run
from model.architectures import torch_engine
from model.checkpoint import load_model
from model.data.corpus import Corpus
from model.data.tokenised import tokenise
from model.evaluation import score
from model.training.distributed import World
from model.training.process import prepare_process
from model.training.run_folder import Progress
from model.training.trainer import Trainer
from model.training.validation import perplexity
from serving.atomic import copy_file
from serving.errors import DragomanError
from serving.machine import processor
from serving.options import DecodingOptions
from serving.text import VOCABULARY, TextProcessor
from serving.translator import SentenceTranslator

log = logging.getLogger(__name__)


def main(words: Sequence[str]) -> int:
    """Carry out one run; exit status 2 for an error whose last line says why, 130 if stopped."""
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    prepare_process()
    path, name, seed = words
    try:
        config = AblationConfig.load(Path(path))
        run = config.find(name, int(seed))
        with run.alone():
            return carry_out(run, config.vocabulary)
    except DragomanError as error:
        print(f"dragoman: error: {error}", file=sys.stderr)
        return 2


def carry_out(run: Run, vocabulary: Path) -> int:
    """Train to the last step, or go on with it, and score; 130 if a signal ended it earlier.

    Raises:
        DragomanError: the run cannot go on, or it diverged.
    """
    log.info("%s: begins or goes on", run)
    own = run.folder / VOCABULARY
    if not own.exists():
        copy_file(vocabulary, own)
    trainer = Trainer(run.config, World.join(run.config.device))
    if not trainer.run():
        return 130
    assess(run, trainer.progress).save(run)
    log.info("%s: done", run)
    return 0


def assess(run: Run, progress: Progress) -> Result:
    """Translate the test set with the averaged model, and score it."""
    model = load_model(run.folder / "averaged")
    text = TextProcessor.load(run.folder / VOCABULARY)
    files, options = run.config.validation_set, run.config.validation
    validation = tokenise(Corpus.read(files.source, files.target), text)
    test = Corpus.read(run.test.source, run.test.target)
    translator = SentenceTranslator(torch_engine(model), text)
    decoding = DecodingOptions(options.beam_size, options.length_penalty)
    found = [best[0].text for best in translator.translate(test.source, decoding)]
    scoring = functools.partial(score, tokenize=options.tokenize, remove_bpe=options.remove_bpe)
    lines = (" ".join(line.split()) for line in found)  # a poor model may spell line breaks
    run.translations.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Result(
        fingerprint=run.fingerprint,
        machine=f"{processor()}, PyTorch {torch.__version__}",
        threads=torch.get_num_threads(),
        parameters=sum(p.numel() for p in model.parameters()),
        steps=progress.step,
        target_tokens=progress.tokens,
        training_seconds=progress.seconds,
        perplexity=perplexity(model, validation),
        scores=scoring(found, test.target),
        by_length=scores_by_length(test.source, found, test.target, run.limits, scoring),
    )


def _stop_with_parent() -> None:
    """Standard input is a pipe that the parent never writes to: it ends when the parent does."""
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
