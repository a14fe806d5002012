"""Streams of a decoupled model through the real server, to both clients."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serving.client import AsyncClient, Client, DeadlineError, Part, RequestError
from tests.e2e.launched import REPOSITORY, ROOT, LaunchedServer, wait_until

MODEL = Path(__file__).with_name("streaming_model.py")
NUMBERS = ("index", "total", "source_start", "source_end")
CONFIG = 'backend: "python"\nmodel_transaction_policy { decoupled: true }\n'
CONFIG += 'input [ { name: "text" data_type: TYPE_STRING dims: [ 1 ] } ]\noutput [\n'
CONFIG += ",\n".join(
    f'  {{ name: "{name}" data_type: TYPE_{kind} dims: [ 1 ] }}'
    for kind, names in (("STRING", ("translation", "before", "after")), ("INT32", NUMBERS))
    for name in names
)
CONFIG += "\n]\ninstance_group [ { kind: KIND_CPU count: 1 } ]\n"

WORDS = "one two three four five six seven eight"


class Streaming:
    """A served model that streams, and its journal of what became of each request."""

    def __init__(self, server: LaunchedServer) -> None:
        self.server = server
        self.address = f"127.0.0.1:{server.grpc_port}"
        self._journal = server.repository / "translate_stream" / "journal.jsonl"

    def journal(self) -> list[dict[str, Any]]:
        if not self._journal.exists():
            return []
        return [json.loads(line) for line in self._journal.read_text().splitlines()]

    def next_outcome(self, before: int) -> str:
        wait_until(lambda: len(self.journal()) > before, "the model has ended its work")
        return str(self.journal()[before]["outcome"])


@pytest.fixture(scope="module")
def streaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streaming]:
    folder = tmp_path_factory.mktemp("streaming")
    repository = folder / "repository"
    shutil.copytree(REPOSITORY, repository)
    (repository / "translate_stream" / "1").mkdir(parents=True, exist_ok=True)
    (repository / "translate_stream" / "config.pbtxt").write_text(CONFIG)
    shutil.copy(MODEL, repository / "translate_stream" / "1" / "model.py")
    with LaunchedServer(repository, folder / "server.log") as server:
        yield Streaming(server)
        assert server.runs(), server.output()


def test_parts_arrive_while_others_are_under_way(streaming: Streaming) -> None:
    times = []
    parts = []
    with Client(streaming.address) as client:
        for part in client.stream("one two three", temperature=0.3):
            times.append(time.monotonic())
            parts.append(part)
    assert parts[1] == Part("TWO", 1, 3, 4, 7, " ", "")
    assert "".join(part.text for part in parts) == "ONE TWO THREE!"
    assert times[2] - times[0] > 0.4


def test_options_and_time_reach_the_model(streaming: Streaming) -> None:
    before = len(streaming.journal())
    with Client(streaming.address) as client:
        list(
            client.stream(
                "one",
                timeout=30,
                seed=2**63 - 1,
                top_p=0.25,
                prefix="So",
                protect=["ä", "b"],
                glossary={"x": "y"},
            )
        )
    wait_until(lambda: len(streaming.journal()) > before, "the model has ended its work")
    given = streaming.journal()[before]["parameters"]
    assert 29e6 < given.pop("timeout") <= 30e6
    assert json.loads(given.pop("protect")) == ["ä", "b"]
    assert json.loads(given.pop("glossary")) == {"x": "y"}
    assert given == {"seed": 2**63 - 1, "top_p": 0.25, "prefix": "So"}


def test_leaving_a_stream_frees_the_models_work(streaming: Streaming) -> None:
    before = len(streaming.journal())
    with Client(streaming.address) as client:
        for part in client.stream(WORDS, temperature=0.1):
            if part.index == 1:
                break
        assert streaming.next_outcome(before) == "cancelled"


def test_deadlines_and_errors_end_a_stream(streaming: Streaming) -> None:
    before = len(streaming.journal())
    with Client(streaming.address) as client:
        stream = client.stream("one fault", temperature=0.05)
        assert next(stream).translation == "ONE"
        with pytest.raises(RequestError, match="fault: here"):
            next(stream)
        assert streaming.next_outcome(before) == "fault"
        with pytest.raises(DeadlineError):
            list(client.stream(WORDS, temperature=0.1, timeout=0.35))
        assert streaming.next_outcome(before + 1) == "cancelled"


def test_tasks_stream_side_by_side_and_can_be_cancelled(streaming: Streaming) -> None:
    before = len(streaming.journal())

    async def whole(client: AsyncClient, text: str) -> str:
        return "".join([part.text async for part in client.stream(text, temperature=0.1)])

    async def work() -> list[str]:
        async with AsyncClient(streaming.address) as client:
            found = await asyncio.gather(*(whole(client, f"{n} {n}") for n in range(8)))
            task = asyncio.create_task(whole(client, WORDS))
            await asyncio.sleep(0.25)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return list(found)

    assert asyncio.run(work()) == [f"{n} {n}!" for n in range(8)]
    assert streaming.next_outcome(before + 8) == "cancelled"


def test_the_documents_examples_run(streaming: Streaming) -> None:
    text = (ROOT / "docs" / "client.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        code = example.replace("localhost:8001", streaming.address)
        assert code != example
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert streaming.server.translate("Good morning.", beam_size=8) in done.stdout
        assert "STATION?" in done.stdout
