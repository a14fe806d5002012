"""`dragoman prepare` from text to a finished folder: what is kept, refused, and gone on with."""

from __future__ import annotations

import dataclasses
import gzip
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.data.prepare.cleaning import CleaningRules
from model.data.prepare.inputs import LineFiles
from model.data.prepare.plan import Options, Plan
from model.data.prepare.preparation import prepare
from model.data.prepared import FILES, MANIFEST, PreparedFolder
from serving import cli
from serving.errors import DragomanError
from serving.text import TextProcessor, normalise
from tests.unit.prepare_cases import command, write_text

pytestmark = pytest.mark.usefixtures("quick_writes")

SHIPPED = Path(__file__).parents[2] / "model_repository/translator/1/vocabulary.model"


texts = st.one_of(
    st.sampled_from(["", " ", "a", "ab ab", "x" * 30, "x" * 41, "held out", "a\tb", "\ufeff\r"]),
    st.text(max_size=6),
).map(lambda text: text.replace("\n", "").encode("utf-8", "replace"))
lines = st.one_of(texts, st.sampled_from([b"\xff", b"a" * (1 << 17)]))


@settings(deadline=None, max_examples=25)
@given(rows=st.lists(st.tuples(lines, lines), max_size=25), shard=st.integers(1, 9))
def test_what_is_kept_is_what_a_plain_loop_keeps(
    rows: list[tuple[bytes, bytes]], shard: int
) -> None:
    rows = [*rows, (b"always", b"there")]
    removed: dict[str, int] = {}
    kept: list[tuple[str, str]] = []
    for row in rows:
        if reason := naive_fault(row, kept):
            removed[reason] = removed.get(reason, 0) + 1
        else:
            kept.append((normalise(row[0].decode()), normalise(row[1].decode())))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side, path in enumerate(("s", "t")):
            (folder / path).write_bytes(b"".join(row[side] + b"\n" for row in rows))
        (folder / "test").write_text("held  out\n\n")
        rules = CleaningRules(max_characters=40, max_ratio=2)
        options = Options(rules, SHIPPED, skip_invalid=True, shard_pairs=shard)
        plan = Plan([LineFiles(folder / "s", folder / "t")], [folder / "test"], options)
        report = prepare(plan, folder / "out", threads=1)
        found = PreparedFolder.open(folder / "out")
        text = TextProcessor.load(SHIPPED)
        assert [ids.tolist() for ids in found.source] == [text.encode(s) for s, _ in kept]
        assert [ids.tolist() for ids in found.target] == [text.encode(t) for _, t in kept]
        written = json.loads((folder / "out/report.json").read_text())
    assert report.to_dict() == written
    assert written["removed"] == removed
    assert (written["read"], written["kept"]) == (len(rows), len(kept))
    assert found.manifest.pairs == len(kept)


def naive_fault(row: tuple[bytes, bytes], kept: list[tuple[str, str]]) -> str | None:
    if any(len(line) > 65_536 for line in row):
        return "too_long"
    try:
        pair = (normalise(row[0].decode()), normalise(row[1].decode()))
    except UnicodeDecodeError:
        return "invalid_utf8"
    if max(map(len, pair)) > 40:
        return "too_long"
    if not all(pair):
        return "empty"
    if max(map(len, pair)) > 2 * min(map(len, pair)) + 10:
        return "ratio"
    if "held out" in pair:
        return "excluded"
    return "duplicate" if pair in kept else None


def test_every_kind_of_input_gives_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = write_text(tmp_path)
    english, german = (tmp_path / "a.en").read_text(), (tmp_path / "a.de").read_text()
    (tmp_path / "z.en.gz").write_bytes(gzip.compress(english.encode()))
    (tmp_path / "z.de.gz").write_bytes(gzip.compress(german.encode()))
    rows = [f"{e}\t{g}" for e, g in zip(english.splitlines(), german.splitlines(), strict=True)]
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress("\r\n".join(rows).encode()))
    languages = ["--source-language", "en", "--target-language", "de"]
    for name, arguments in {
        "plain": plain,
        "moses": ["--moses", str(tmp_path / "z"), *languages],
        "tsv": ["--tsv", str(tmp_path / "a.tsv.gz")],
        "both": [*plain, "--moses", str(tmp_path / "z"), *languages],
    }.items():
        assert cli.main(command(tmp_path / name, *arguments)) == 0
        for file in FILES[:5]:
            assert (tmp_path / name / file).read_bytes() == (tmp_path / "plain" / file).read_bytes()
    said = capsys.readouterr().out
    assert "120 pairs read, 60 kept\n          60 removed: duplicate\n" in said
    assert f"{tmp_path}/z.en.gz, line 1: the old house 0\n" in said
    assert not list(tmp_path.glob("*/work"))


BAD = b"good\t\n"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a": b"x\ny\nz", "b": b"x\n"}, "a has 3 lines but .*b has 1 lines"),
        ({"a": b"x\n\xff\n", "b": b"x\ny\n"}, "a, line 2: not UTF-8 .*; --skip-invalid"),
        ({"a": b"x\n", "b": b"Gr\xfc\xdfe\n"}, "b, line 1: not UTF-8"),
        ({"a": b"x\n"}, "cannot read .*b"),
        ({"a.gz": gzip.compress(b"x\n" * 999)[:-9], "b": b"x\n" * 999}, "cannot read .*a.gz"),
        ({"a": b"x\n" * 999, "b.gz": gzip.compress(b"x\n" * 999)[:-9]}, "cannot read .*b.gz"),
        ({"a.gz": gzip.compress(b"x")[:10] + b"\xff" * 9, "b": b"x"}, "cannot read .*a.gz"),
        ({"a.tsv": b"x\ty\nx\n"}, "a.tsv, line 2: 1 columns instead of 2; --skip-invalid"),
        ({"a.tsv": b"x\ty\tz\n"}, "a.tsv, line 1: 3 columns instead of 2"),
        ({"a.tsv": b"\n\t\nx\t\n"}, r"no pair is left: 3 pairs read, 0 kept\n.*3 removed: empty"),
        ({"a": b"", "b": b""}, "no pair is left: 0 pairs read"),
    ],
)
def test_broken_input_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, bytes],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, data in files.items():
        Path(name).write_bytes(data)
    names = [*files, "b"]
    tsv = names[0].endswith("tsv")
    pairs = ["--tsv", names[0]] if tsv else ["--source", names[0], "--target", names[1]]
    assert cli.main(command(Path("out"), *pairs)) == 2
    error = capsys.readouterr().err
    assert pytest.raises(DragomanError, match=f"(?s)error: .*{message}").matches(
        DragomanError(error)
    )
    assert not Path("out", MANIFEST).exists()


def test_removed_lines_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_bytes(
        b"\xef\xbb\xbfgood one\r\n\n" + b"m" * 1_000_000 + b"\ngood\x00one\rx\n\xff\n"
    )
    target.write_bytes(b"gute eins\nleer\nlang\ngute\teins\r\nkaputt")
    arguments = ["--source", str(source), "--target", str(target), "--vocabulary", str(SHIPPED)]
    assert cli.main(["prepare", str(tmp_path / "out"), *arguments, "--skip-invalid"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "5 pairs read, 2 kept",
        "           1 removed: too_long",
        f"{'':14}{source}, line 3: more than 65536 bytes",
        "           1 removed: invalid_utf8",
        f"{'':14}{source}, line 5: invalid start byte",
        "           1 removed: empty",
        f"{'':14}{source}, line 2: leer",
    ]


def test_damage_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, output = write_text(tmp_path), tmp_path / "out"
    with pytest.raises(DragomanError, match="holds no prepared pairs.*the same command again"):
        PreparedFolder.open(output)
    assert cli.main(command(output, *arguments)) == 0
    assert cli.main(["prepare", str(output), "--verify"]) == 0
    ids = output / "target.ids"
    whole = ids.read_bytes()
    ids.write_bytes(whole[:-2] + b"\x05\x00")
    PreparedFolder.open(output)
    assert cli.main(["prepare", str(output), "--verify"]) == 2
    assert "target.ids is damaged: its checksum has changed" in capsys.readouterr().err
    ids.write_bytes(whole[:-2])
    with pytest.raises(DragomanError, match=f"holds {len(whole) - 2} bytes instead of"):
        PreparedFolder.open(output)
    ids.unlink()
    with pytest.raises(DragomanError, match="target.ids is damaged: it holds 0 bytes"):
        PreparedFolder.open(output)
    (output / MANIFEST).write_text("{}")
    with pytest.raises(DragomanError, match="is no manifest of prepared data"):
        PreparedFolder.open(output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no pairs are given"),
        (["--source", "a"], "--source and --target must name as many files"),
        (["--moses", "a"], "--moses needs --source-language"),
        (["--tsv", "a", "--shard-pairs", "0"], "shard-pairs must be at least 1"),
        (["--tsv", "a", "--max-characters", "0"], "max-characters must be from 1"),
        (["--tsv", "missing.tsv"], "cannot read missing.tsv"),
        (["--tsv", "a.tsv"], "is in use for something else"),
        (["--tsv", "a.tsv", "--vocabulary", "a.tsv"], "no SentencePiece model"),
        (["--tsv", "a.tsv", "--vocabulary-size", "9999"], "cannot learn 9999 pieces"),
    ],
)
def test_what_cannot_be_done_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text("one\teins\n")
    Path("full").mkdir()
    Path("full/mine").touch()
    output = "full" if "in use" in message else "out"
    assert cli.main(["prepare", output, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_sample_is_drawn_by_the_seed(tmp_path: Path) -> None:
    arguments = [*write_text(tmp_path), "--sample-pairs", "30"]
    vocabularies = []
    for name, seed in (("one", "1"), ("again", "1"), ("other", "2")):
        assert cli.main(command(tmp_path / name, *arguments, "--seed", seed)) == 0
        vocabularies.append((tmp_path / name / "vocabulary.model").read_bytes())
    assert vocabularies[0] == vocabularies[1] != vocabularies[2]


def test_shards_and_threads_change_nothing(tmp_path: Path) -> None:
    text, manifests = write_text(tmp_path), []
    for name, shard, threads in (("small", 3, 2), ("large", 1000, 1)):
        arguments = ["--shard-pairs", str(shard), "--threads", str(threads)]
        assert (
            cli.main(
                ["prepare", str(tmp_path / name), *text, *arguments, "--vocabulary-size", "310"]
            )
            == 0
        )
        manifests.append(PreparedFolder.open(tmp_path / name).manifest)
    assert dataclasses.replace(manifests[0], plan={}) == dataclasses.replace(manifests[1], plan={})
