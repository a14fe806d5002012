"""Parts of preparing data: reading lines, cleaning, duplicates, token arrays on disk."""

from __future__ import annotations

import gzip
import io
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.data.prepare.cleaning import Cleaner, CleaningRules, Fault, Pair, Reason
from model.data.prepare.duplicates import SeenPairs, digests_of
from model.data.prepare.inputs import (
    LONGEST_LINE,
    ColumnFile,
    LineFiles,
    bounded_lines,
    count_pairs,
)
from model.data.prepare.report import EXAMPLES, Report
from model.data.tokens import TokenArray, TokenWriter, id_type
from serving.errors import ConfigError, DragomanError

light = settings(deadline=None, max_examples=40)

RULES = CleaningRules(max_characters=30, max_ratio=2.0)


@light
@given(
    lines=st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"x"))),
    closed=st.booleans(),
)
def test_lines_are_those_of_a_split(lines: list[bytes], closed: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if closed and lines else b"")
    whole = data.split(b"\n")
    expected = whole[:-1] if not whole[-1] else whole
    found = list(bounded_lines(io.BytesIO(data), limit=6))
    assert len(found) == len(expected)
    for line, full in zip(found, expected, strict=True):
        assert line == (full.rstrip(b"\r") if len(full) <= 6 else None)


def test_a_huge_line_is_never_held(tmp_path: Path) -> None:
    path = tmp_path / "huge.gz"
    path.write_bytes(gzip.compress(b"a" * 20_000_000 + b"\nshort\n", compresslevel=1))
    tracemalloc.start()
    rows = list(LineFiles(path, path).rows())
    assert rows == [(None, None), (b"short", b"short")]
    assert tracemalloc.get_traced_memory()[1] < 8_000_000
    tracemalloc.stop()


@light
@given(st.text(alphabet="ab \r\x85\u2028", max_size=20), st.integers(0, 4))
def test_only_newlines_are_counted(text: str, lines: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        data = f"{text}\n".encode() * lines + b"end"
        path.write_bytes(data)
        pairs = LineFiles(path, path)
        assert count_pairs(pairs) == lines + 1 == len(list(pairs.rows()))


def test_columns_are_swapped_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"a\tb\n\nonly\n1\t2\t3\n")
    assert list(ColumnFile(path).rows()) == [
        *([b"a", b"b"], [b"", b""], [b"only"], [b"1", b"2", b"3"])
    ]
    assert next(iter(ColumnFile(path, swapped=True).rows())) == [b"b", b"a"]


@pytest.mark.parametrize(
    ("row", "reason", "side"),
    [
        ((b"only",), Reason.MALFORMED, 0),
        ((b"a", b"b", b"c"), Reason.MALFORMED, 0),
        ((None, b"b"), Reason.TOO_LONG, 0),
        ((b"a", None), Reason.TOO_LONG, 1),
        ((b"\xff", None), Reason.TOO_LONG, 1),
        ((b"a", b"Gr\xfc\xdfe"), Reason.INVALID, 1),
        ((b"\xff\xfea\x00", b"b"), Reason.INVALID, 0),
        ((b"a", b"b" * 31), Reason.TOO_LONG, 1),
        ((b"", b"b"), Reason.EMPTY, 0),
        ((b"a", b" \x00\r\xe2\x80\x8b\xef\xbb\xbf"), Reason.EMPTY, 1),
        ((b"a", b"b" * 13), Reason.RATIO, 1),
        ((b"a test line", b"b"), Reason.EXCLUDED, 0),
        ((b"a", b"a  test\tline"), Reason.EXCLUDED, 1),
    ],
)
def test_unfit_pairs(row: tuple[bytes | None, ...], reason: Reason, side: int) -> None:
    found = Cleaner(RULES, {"a test line"}).clean(row)
    assert isinstance(found, Fault)
    assert (found.reason, found.side) == (reason, side)


@pytest.mark.parametrize(
    ("row", "pair"),
    [
        ((b"a", b"b" * 12), ("a", "b" * 12)),
        ((b"\xef\xbb\xbfone\x00two\rthree ", b"\tb c "), ("one two three", "b c")),
    ],
)
def test_fit_pairs_are_normalised(row: tuple[bytes, bytes], pair: tuple[str, str]) -> None:
    assert Cleaner(RULES, frozenset()).clean(row) == Pair(*pair)


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(ConfigError, match="max-characters must be from 1 to 16384"):
        CleaningRules(max_characters=LONGEST_LINE)
    with pytest.raises(ConfigError, match="max-ratio must be at least 1"):
        CleaningRules(max_ratio=float("nan"))


@light
@given(blocks=st.lists(st.lists(st.integers(0, 12), max_size=8), max_size=8))
def test_duplicates_are_those_of_a_set(blocks: list[list[int]]) -> None:
    pairs, seen = SeenPairs(), set()
    earlier = np.empty(0, np.uint64)
    for block in blocks:
        digests = digests_of(Pair(str(n), "x") for n in block)
        expected = []
        for n in block:
            expected.append(n not in seen)
            seen.add(n)
        resumed = SeenPairs(earlier)
        assert pairs.add(digests).tolist() == expected == resumed.add(digests).tolist()
        earlier = np.concatenate((earlier, digests))


def test_a_digest_tells_the_sides_apart() -> None:
    pairs = [Pair("a b", "c"), Pair("a", "b c"), Pair("c", "a b"), Pair("a b", "c")]
    assert SeenPairs().add(digests_of(pairs)).tolist() == [True, True, True, False]


@light
@given(
    blocks=st.lists(st.lists(st.lists(st.integers(0, 65_535), max_size=5), max_size=5), max_size=5),
    vocab_size=st.sampled_from([65_536, 65_537]),
)
def test_token_arrays_come_back_from_disk(blocks: list[list[list[int]]], vocab_size: int) -> None:
    sequences = [sequence for block in blocks for sequence in block]
    dtype = id_type(vocab_size)
    with tempfile.TemporaryDirectory() as folder:
        ids, offsets = Path(folder) / "ids", Path(folder) / "offsets"
        with ids.open("wb") as id_stream, offsets.open("wb") as offset_stream:
            writer = TokenWriter(id_stream, offset_stream, dtype)
            for block in blocks:
                array = TokenArray.of(block)
                writer.append(array.ids, array.lengths)
        assert (writer.count, writer.total) == (len(sequences), sum(map(len, sequences)))
        assert ids.stat().st_size == writer.total * (2 if vocab_size <= 65_536 else 4)
        found = TokenArray.map(ids, offsets, dtype)
        assert found == TokenArray.of(sequences)
        with offsets.open("ab") as stream:
            stream.write(bytes(7))
        with pytest.raises(DragomanError, match="cannot map"):
            TokenArray.map(ids, offsets, dtype)


def test_files_of_two_arrays_are_not_one(tmp_path: Path) -> None:
    (tmp_path / "ids").write_bytes(bytes(6))
    (tmp_path / "offsets").write_bytes(np.array([0, 2]).tobytes())
    with pytest.raises(DragomanError, match="do not belong together"):
        TokenArray.map(tmp_path / "ids", tmp_path / "offsets", "<u2")


@light
@given(st.lists(st.lists(st.sampled_from(list(Reason)), max_size=6), max_size=4))
def test_reports_add_up(blocks: list[list[Reason]]) -> None:
    reports = []
    for shard, block in enumerate(blocks):
        report = Report(read=len(block) + 1)
        for number, reason in enumerate(block):
            report.remove(reason, f"f, line {shard}.{number}", "x" * 500)
        reports.append(Report.from_dict(report.to_dict()))
    total = Report.total(reports)
    assert total.kept == len(blocks)
    for reason in Reason:
        places = [
            f"f, line {s}.{n}" for s, b in enumerate(blocks) for n, r in enumerate(b) if r == reason
        ]
        assert total.removed.get(reason, 0) == len(places)
        shown = [text.partition(":")[0] for text in total.examples.get(reason, [])]
        assert shown == places[:EXAMPLES]
