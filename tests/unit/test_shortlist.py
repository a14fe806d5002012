"""Shortlists: the table that is learned, the lists of sentences, the file and the command."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model import lexical
from model.data.batches import Pairs
from model.data.vocabulary import VocabularyConfig, learn_pieces
from serving import cli
from serving.engine import Candidates, Demand
from serving.engines.lists import Lists, without_padding
from serving.errors import ConfigError
from serving.shortlist import SHORTLIST, Shortlist
from serving.text import VOCABULARY, TextProcessor

EOS = 2


def bilingual(seed: int, sentences: int = 400) -> Pairs:
    """Words 3 to 22, translated by themselves + 20 in another order, and by one for nothing."""
    random = np.random.default_rng(seed)
    sources, targets = [], []
    for _ in range(sentences):
        words = random.integers(3, 23, random.integers(1, 7))
        sources.append([*words.tolist(), EOS])
        targets.append([50, *random.permutation(words + 20).tolist(), EOS])
    return Pairs.of(sources, targets)


@pytest.mark.parametrize("cells", [lexical.CELLS, 40])
def test_translations_are_found(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    monkeypatch.setattr(lexical, "CELLS", cells)
    pairs = bilingual(0)
    chunks: list[None] = []
    lexicon = lexical.learn(pairs, 60, 5, lambda: chunks.append(None))
    assert len(chunks) == lexical.passes(pairs, 5)
    offsets, targets = lexicon.best(2)
    for word in range(3, 23):
        assert targets[offsets[word]] == word + 20
        assert offsets[word + 1] - offsets[word] == 2
    assert offsets[-1] == len(targets) == 40, "nothing, and what never stood there, has none"


def test_probabilities_are_those_of_model_1_written_out() -> None:
    pairs = bilingual(1, 30)
    lexicon = lexical.learn(pairs, 60, 3, lambda: None)
    expected = written_out(pairs, 3)
    for key, probability in zip(lexicon.key, lexicon.probability, strict=True):
        source, target = divmod(int(key), 60)
        assert probability == pytest.approx(expected[source, target], rel=1e-6)


def written_out(pairs: Pairs, iterations: int) -> dict[tuple[int, int], float]:
    """The same in loops, begun with how often words stand in a pair of sentences together."""
    texts = [
        ([60, *s[:-1].tolist()], t[:-1].tolist())
        for s, t in zip(pairs.source, pairs.target, strict=True)
    ]
    found: dict[tuple[int, int], float] = {}
    for iteration in range(iterations + 1):
        count: dict[tuple[int, int], float] = {}
        for source, target in texts:
            for t in target:
                total = sum(found[s, t] for s in source) if iteration else 0.0
                for s in source:
                    share = found[s, t] / total if iteration else 1.0
                    count[s, t] = count.get((s, t), 0.0) + share
        totals: dict[int, float] = {}
        for (s, _), number in count.items():
            totals[s] = totals.get(s, 0.0) + number
        found = {(s, t): number / totals[s] for (s, t), number in count.items()}
    return found


def test_the_rarest_pairs_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "CELLS", 40)
    monkeypatch.setattr(lexical, "MAX_ENTRIES", 300)
    lexicon = lexical.learn(bilingual(2), 60, 3, lambda: None)
    assert len(lexicon.key) <= 300
    offsets, targets = lexicon.best(1)
    right = [w for w in range(3, 23) if w + 20 in targets[offsets[w] : offsets[w + 1]]]
    assert len(right) > 15


@st.composite
def shortlists(draw: st.DrawFn) -> Shortlist:
    vocab_size = draw(st.integers(4, 40))
    piece = st.integers(0, vocab_size - 1)
    lists = draw(st.lists(st.lists(piece, max_size=9), min_size=vocab_size, max_size=vocab_size))
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in lists]))).astype(np.int64)
    targets = np.array([i for one in lists for i in one], dtype=np.int64)
    always = np.union1d(draw(st.lists(piece, max_size=5)), [EOS]).astype(np.int64)
    return Shortlist(offsets, targets, always)


@given(shortlists(), st.data())
def test_lists_and_their_union(shortlist: Shortlist, data: st.DataObject) -> None:
    sentence = st.lists(st.integers(3, shortlist.vocab_size - 1), max_size=8)
    sentences = data.draw(st.lists(sentence, min_size=1, max_size=4))
    lists = Lists(shortlist)
    for ids in sentences:
        source = np.array([[*ids, EOS, 0, 0]])
        lists.join(source, [Demand(len(ids) + 1, 1, 10)])
    slot = np.array(data.draw(st.permutations(range(len(sentences)))))
    feed = lists.feed(slot)
    union, own = feed["shortlist"], feed["own"]
    assert len(union) % 64 == own[0].size % 64 == 0
    for row, ids in zip(own[slot].reshape(len(slot), -1), sentences, strict=True):
        found = shortlist.candidates([*ids, EOS])
        assert EOS in found
        assert set(shortlist.always) | {*ids} <= set(found.tolist())
        assert (np.diff(found) > 0).all()
        np.testing.assert_array_equal(union[row[row >= 0]], found)


def test_what_fills_up_a_list_is_impossible() -> None:
    log_prob = np.array([[-0.5, -1e9]], dtype=np.float32)
    found = Candidates(log_prob, np.array([[7, 3]]), log_prob[:, :0])
    kept = without_padding(found, pad_id=0)
    assert kept.log_prob.tolist() == [[-0.5, -np.inf]]
    assert kept.token.tolist() == [[7, 0]]


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = Shortlist(np.array([0, 0, 0, 0, 2]), np.array([3, 1]), np.array([0, EOS]))
    path = tmp_path / SHORTLIST
    path.write_bytes(written.to_bytes())
    found = Shortlist.load(path, 4, EOS)
    assert found.candidates([3]).tolist() == [0, 1, 2, 3]
    assert found.candidates([1]).tolist() == [0, 1, 2]


GOOD = ([0, 0, 0, 0, 2], [3, 1], [0, EOS])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0, 0, 2], *GOOD[1:]), "it is for 2 pieces, not 4"),
        (([0, 0, 3, 0, 2], *GOOD[1:]), "its offsets do not fit"),
        (([0, 0, 0, 0, 3], *GOOD[1:]), "its offsets do not fit"),
        ((GOOD[0], [3, 4], GOOD[2]), "no piece of the vocabulary"),
        ((*GOOD[:2], [0, -1]), "no piece of the vocabulary"),
        ((*GOOD[:2], [0, 1]), "EOS (2) is not always a candidate"),
    ],
)
def test_a_shortlist_of_another_model_is_refused(
    tmp_path: Path, arrays: tuple[list[int], ...], message: str
) -> None:
    path = tmp_path / SHORTLIST
    path.write_bytes(Shortlist(*map(np.array, arrays)).to_bytes())
    with pytest.raises(ConfigError) as error:
        Shortlist.load(path, 4, EOS)
    assert message in str(error.value)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / SHORTLIST
    content = Shortlist(*map(np.array, GOOD)).to_bytes()
    for damaged in (b"", content[:-30], content[: len(content) // 2], b"no archive"):
        path.write_bytes(damaged)
        with pytest.raises(ConfigError, match="no shortlist can be read from"):
            Shortlist.load(path, 4, EOS)
    path.unlink()
    with pytest.raises(ConfigError, match="no shortlist can be read from"):
        Shortlist.load(path, 4, EOS)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a vocabulary and text: all that the command needs."""
    folder = tmp_path_factory.mktemp("checkpoint")
    words = np.random.default_rng(0).choice(["haus", "baum", "hund", "weg", "tag"], (200, 4))
    lines = [" ".join(row) for row in words]
    for name, end in (("train.en", ""), ("train.de", " ja")):
        text = "".join(f"{line}{end}\n" for line in lines)
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    config = VocabularyConfig(size=285, placeholders=2)
    learn_pieces([*lines, "ja"], config, folder / VOCABULARY)
    return folder


def command(checkpoint: Path, *options: str) -> list[str]:
    texts = [str(checkpoint / f"train.{side}.gz") for side in ("en", "de")]
    return ["shortlist", str(checkpoint), "--source", texts[0], "--target", texts[1], *options]


def test_the_command_writes_what_it_learned(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(command(checkpoint, "--candidates", "3", "--frequent", "2")) == 0
    assert "pieces for a sentence on average" in capsys.readouterr().err
    text = TextProcessor.load(checkpoint / VOCABULARY)
    found = Shortlist.load(checkpoint / SHORTLIST, text.vocab_size, text.eos_id)
    assert np.diff(found.offsets).max() == 3
    assert {text.eos_id, text.unk_id} <= set(found.always.tolist())
    assert len(found.always) <= 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--candidates", "0"], "--candidates must be at least 1, not 0"),
        (["--frequent", "-1"], "--frequent must be at least 1, not -1"),
        (["--iterations", "0"], "--iterations must be at least 1, not 0"),
        (["--source", "missing.gz"], "cannot read missing.gz"),
        (["--source", "short"], "has 1 lines but"),
        (["--source", "blank"], "hold no pair of sentences"),
    ],
)
def test_what_cannot_be_done_is_told(
    checkpoint: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(checkpoint)
    Path("short").write_text("haus\n")
    Path("blank").write_text("\n" * 200)
    assert cli.main(command(checkpoint, *options)) == 2
    assert message in capsys.readouterr().err
    assert cli.main(["shortlist", "nowhere", *command(checkpoint)[2:]]) == 2
    assert "no SentencePiece model can be read from" in capsys.readouterr().err
