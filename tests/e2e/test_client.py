"""The Python client and translated files, against the real server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polib
import pytest
import srt

from serving.client import AsyncClient, Client, NotReadyError, RequestError
from tests.e2e.launched import ROOT, LaunchedServer

TEXTS = [f"There are {n} books on the table." for n in range(60)]


def address(server: LaunchedServer) -> str:
    return f"127.0.0.1:{server.grpc_port}"


def test_a_client_gets_what_curl_gets(server: LaunchedServer) -> None:
    _, answer = server.generate(text="Good morning.", beam_size=5, n_best=3)
    with Client(address(server)) as client:
        client.check()
        found = client.translate("Good morning.", beam_size=5, n_best=3)
    pairs = [(found.translation, found.score), *((a.text, a.score) for a in found.alternatives)]
    assert [text for text, _ in pairs] == answer["translation"]
    assert [score for _, score in pairs] == pytest.approx(answer["score"])


def test_many_texts_by_threads_and_by_tasks(server: LaunchedServer) -> None:
    expected = [server.translate(text, beam_size=1) for text in (TEXTS[0], TEXTS[41])]

    async def by_tasks() -> list[str]:
        async with AsyncClient(address(server)) as client:
            await client.check()
            found = await client.translate_many(TEXTS, beam_size=1)
            assert (await client.translate(TEXTS[0], beam_size=1)) == found[0]
            return [result.translation for result in found]

    with Client(address(server)) as client, ThreadPoolExecutor(4) as pool:
        found = [result.translation for result in client.translate_many(TEXTS, beam_size=1)]
        each = pool.map(lambda text: client.translate(text, beam_size=1).translation, TEXTS)
        assert list(each) == found
    assert asyncio.run(by_tasks()) == found
    assert [found[0], found[41]] == expected


def test_what_the_real_server_refuses_is_told(server: LaunchedServer) -> None:
    refusal = r"127.0.0.1:\d+: .*n_best must be from 1 to"
    with Client(address(server)) as client, pytest.raises(RequestError, match=refusal):
        client.translate("Good morning.", beam_size=2, n_best=3)
    with Client(address(server), patience=0.1, model="other") as client:
        with pytest.raises(NotReadyError, match="'other' is not ready"):
            client.check()
        with pytest.raises(NotReadyError, match="unknown model: 'other'"):
            client.translate("Good morning.")


def test_files_come_back_translated(server: LaunchedServer, tmp_path: Path) -> None:
    lines, cues, entries = tmp_path / "a.txt", tmp_path / "a.srt", tmp_path / "a.po"
    lines.write_text("Good morning.\n\n")
    cues.write_text("1\n00:00:01,000 --> 00:00:02,000\nWhere is\nthe station?\n")
    entries.write_text('msgid "Thank you."\nmsgstr ""\n')
    folder = tmp_path / "de"
    command = [sys.executable, "-m", "serving.cli", "translate", "--server", address(server)]
    words = [*map(str, (lines, cues, entries)), "--output-dir", str(folder), "--mark-fuzzy"]
    done = subprocess.run([*command, *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "a.txt").read_text() == f"{server.translate('Good morning.')}\n\n"
    (cue,) = srt.parse((folder / "a.srt").read_text())
    assert cue.content.replace("\n", " ") == server.translate("Where is the station?")
    assert cue.content.count("\n") == 1
    (entry,) = polib.pofile(str(folder / "a.po"))
    assert entry.msgstr == server.translate("Thank you.")
    assert entry.fuzzy
