"""Corpora that are known by name, and how they are downloaded."""

from __future__ import annotations

import dataclasses
import importlib.util
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from model.data.prepare.inputs import ColumnFile
from serving.atomic import replacing
from serving.errors import DragomanError

log = logging.getLogger(__name__)

_STANDARD_ERROR = 2

TEST_SETS = {"newstest2013": "wmt13", "newstest2014": "wmt14/full"}
"""Our name of a test set, and sacreBLEU's."""


@dataclasses.dataclass(frozen=True)
class NamedCorpus:
    """A training corpus of a shared task.

    Attributes:
        source: language, as sacreBLEU and we call it.
        target: language.
        datasets: mtdata's ids of its parts; they end in the languages of the two columns.
    """

    source: str
    target: str
    datasets: tuple[str, ...]


CORPORA = {
    "wmt14-en-de": NamedCorpus(
        "en",
        "de",
        (
            "Statmt-europarl_wmt13-7-deu-eng",
            "Statmt-commoncrawl_wmt13-1-deu-eng",
            "OPUS-news_commentary-v9.1-deu-eng",  # the version of WMT14
        ),
    ),
    "wmt14-en-fr": NamedCorpus(
        "en",
        "fr",
        (
            "Statmt-europarl_wmt13-7-fra-eng",
            "Statmt-commoncrawl_wmt13-1-fra-eng",
            "OPUS-news_commentary-v9.1-eng-fra",
            "OPUS-multiun-v1-eng-fra",  # for WMT14's "UN corpus", of the same documents
            "OPUS-giga_fren-v2-eng-fra",
        ),
    ),
}


def download(corpus: NamedCorpus, folder: Path) -> list[ColumnFile]:
    """The parts of a training corpus, downloaded by mtdata unless they are in the folder.

    Raises:
        DragomanError: mtdata is not installed, or it failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for dataset in corpus.datasets:
        path = folder / f"{dataset}.tsv"
        if not path.exists():
            _run("mtdata", ["cache", "--dataset-id", dataset], _STANDARD_ERROR)  # with a bar
            with replacing(path) as stream:
                _run("mtdata", ["echo", dataset], stream)
        found.append(ColumnFile(path, swapped=dataset.rsplit("-", 2)[1] != "eng"))
    return found


def download_tests(corpus: NamedCorpus, folder: Path) -> list[Path]:
    """Both sides of the test sets, downloaded by sacreBLEU unless they are in the folder.

    Raises:
        DragomanError: sacreBLEU is not installed, or it failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pair = f"{corpus.source}-{corpus.target}"
    found = []
    for name, test_set in TEST_SETS.items():
        for language, field in ((corpus.source, "src"), (corpus.target, "ref")):
            path = folder / f"{name}.{pair}.{language}"
            if not path.exists():
                with replacing(path) as stream:
                    _run("sacrebleu", ["-t", test_set, "-l", pair, "--echo", field], stream)
            found.append(path)
    return found


def _run(module: str, arguments: Sequence[str], output: IO[bytes] | int) -> None:
    """Run `python -m MODULE ARGUMENTS`; its progress and errors go to standard error."""
    if importlib.util.find_spec(module) is None:
        raise DragomanError(
            f"downloading needs the package {module!r}; "
            "install it with: pip install 'dragoman[prepare]'"
        )
    log.info("%s %s", module, " ".join(arguments))
    command = [sys.executable, "-m", module, *arguments]
    environment = {**os.environ, "PYTHONUTF8": "1"}
    status = subprocess.run(command, stdout=output, env=environment, check=False).returncode
    if status:
        raise DragomanError(
            f"{module} {' '.join(arguments)} failed with status {status}; what it said is above, "
            "and the same command tries again"
        )
