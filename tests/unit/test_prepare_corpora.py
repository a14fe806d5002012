"""Named corpora: what is asked of mtdata and sacreBLEU, which are stood in for here."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from model.data.prepare.corpora import CORPORA, TEST_SETS
from serving import cli

PROGRAM = '''\
"""Prints a corpus, and writes down how it was called."""
import os, sys
from pathlib import Path

words = sys.argv[1:]
with Path("calls").open("a") as calls:
    print("{name}", *words, file=calls)
if os.environ.get("FAIL") in words:
    print("no such place")
    sys.exit("no network")
print({output})
'''

MTDATA = (
    r'"\n".join(f"{words[-1]} eins {n}\t{words[-1]} one {n}" for n in range(9)) '
    'if words[0] == "echo" else "downloaded"'
)
SACREBLEU = r'f"{words[1]} {words[3]} {words[-1]}\nOPUS-news_commentary-v9.1-deu-eng one 3"'


@pytest.fixture(autouse=True)
def _programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, output in (("mtdata", MTDATA), ("sacrebleu", SACREBLEU)):
        package = tmp_path / "modules" / name
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "__main__.py").write_text(PROGRAM.format(name=name, output=output))
    monkeypatch.syspath_prepend(tmp_path / "modules")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    monkeypatch.chdir(tmp_path)


def prepare(corpus: str = "wmt14-en-de") -> int:
    return cli.main(["prepare", "out", "--corpus", corpus, "--vocabulary-size", "350"])


def test_a_corpus_is_downloaded_and_its_test_sets_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert prepare() == 0
    calls = Path("calls").read_text().splitlines()
    assert calls[0] == "sacrebleu -t wmt13 -l en-de --echo src"
    assert calls[-2:] == [
        "mtdata cache --dataset-id OPUS-news_commentary-v9.1-deu-eng",
        "mtdata echo OPUS-news_commentary-v9.1-deu-eng",
    ]
    assert "27 pairs read, 26 kept\n           1 removed: excluded" in capsys.readouterr().out
    test = Path("data/downloads/newstest2013.en-de.en")
    assert test.read_text().startswith("wmt13 en-de src\n")
    # The German column came first.
    first = Path("data/downloads/Statmt-europarl_wmt13-7-deu-eng.tsv").read_text()
    assert first.startswith("Statmt-europarl_wmt13-7-deu-eng eins 0\tStatmt-europarl")
    assert prepare() == 0
    assert Path("calls").read_text().splitlines() == calls, "nothing is downloaded twice"


def test_a_failed_download_is_told_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAIL", "Statmt-commoncrawl_wmt13-1-deu-eng")
    assert prepare() == 2
    error = capfd.readouterr().err
    assert "no network" in error
    assert "mtdata cache --dataset-id Statmt-commoncrawl_wmt13-1-deu-eng failed" in error
    monkeypatch.delenv("FAIL")
    assert prepare() == 0


def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert prepare() == 2
    assert "pip install 'dragoman[prepare]'" in capsys.readouterr().err


@pytest.mark.parametrize("name", CORPORA)
def test_ids_are_of_the_languages(name: str) -> None:
    languages = {"en": "eng", "de": "deu", "fr": "fra"}
    corpus = CORPORA[name]
    pair = {languages[corpus.source], languages[corpus.target]}
    assert all(set(dataset.rsplit("-", 2)[1:]) == pair for dataset in corpus.datasets)


def test_sacrebleu_knows_the_test_sets() -> None:
    from sacrebleu.dataset import DATASETS

    for test_set in TEST_SETS.values():
        for corpus in CORPORA.values():
            assert f"{corpus.source}-{corpus.target}" in DATASETS[test_set].langpairs
