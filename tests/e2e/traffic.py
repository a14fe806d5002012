"""Clients that keep a server busy while something happens to it, and remember what they saw."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import tritonclient.grpc
from tritonclient.utils import InferenceServerException

from serving.local import open_local
from serving.request_options import Options
from tests.e2e.launched import REPOSITORY, LaunchedServer

SILENCE_SECONDS = 20.0
"""A request without answer or error for so long was lost."""

SENTENCES = [
    "Good morning.",
    "I am hungry.",
    "Where is the station?",
    "She reads a book every evening before she goes to bed.",
    "There are twelve books on the table, and nobody reads them.",
    "The children are playing in the garden.",
    "We have not seen each other for a long time.",
    "Tom does not know what to do.",
    "Could you tell me how to get to the airport, please?",
    "It was raining so hard that we decided to stay at home.",
]


def offline_translations() -> dict[str, str]:
    """What the sentences must become, translated in this process."""
    found = open_local(REPOSITORY, threads=1).translate(SENTENCES, Options())
    return {text: best.text for text, (best, *_) in zip(SENTENCES, found, strict=True)}


@dataclasses.dataclass(frozen=True)
class Seen:
    """What one request came to: when it began and how long it took, in seconds, and its error."""

    way: str
    began: float
    seconds: float
    error: str | None
    right: bool

    @property
    def lost(self) -> bool:
        """Neither an answer nor an error came."""
        return self.seconds >= SILENCE_SECONDS


class Traffic:
    """Some clients over HTTP and some over gRPC, each with one request at a time, until left."""

    def __init__(self, server: LaunchedServer, expected: dict[str, str], clients: int = 4) -> None:
        self.seen: list[Seen] = []
        self._server, self._expected = server, expected
        self._over = threading.Event()
        ways = itertools.islice(itertools.cycle((self._http, self._grpc)), clients)
        self._threads = [threading.Thread(target=way) for way in ways]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    @property
    def errors(self) -> list[str]:
        """Of the requests that were answered with one."""
        return [seen.error for seen in self.seen if seen.error is not None]

    def check(self) -> None:
        """Nothing was lost, and every translation is the offline one."""
        assert self.seen
        assert not [seen for seen in self.seen if seen.lost]
        assert not [seen for seen in self.seen if seen.error is None and not seen.right]

    def slowest_error(self) -> float:
        """The longest that a client waited for an error, in seconds."""
        return max((seen.seconds for seen in self.seen if seen.error is not None), default=0.0)

    def answered_since(self, moment: float) -> bool:
        """Whether a request that began after this time.monotonic was answered well."""
        return any(seen.began > moment and seen.error is None for seen in list(self.seen))

    def summary(self) -> dict[str, Any]:
        """For a report."""
        words = [error[:70] for error in self.errors]
        return {
            "requests": len(self.seen),
            "answered": len(self.seen) - len(words),
            "lost": sum(seen.lost for seen in self.seen),
            "slowest_s": round(max(seen.seconds for seen in self.seen), 2),
            "slowest_error_s": round(self.slowest_error(), 2),
            "errors": dict(collections.Counter(words)),
        }

    def _http(self) -> None:
        for text in itertools.cycle(SENTENCES):
            if self._over.is_set():
                return
            self._note("http", text, time.monotonic(), *self._ask_http(text))

    def _ask_http(self, text: str) -> tuple[str | None, Any]:
        try:
            status, answer = self._server.generate(text=text, wait=SILENCE_SECONDS)
        except (OSError, ValueError) as error:  # no JSON: the connection broke amid the answer
            return repr(error), None
        return (None, answer["translation"]) if status == 200 else (answer["error"], None)

    def _grpc(self) -> None:
        address = f"127.0.0.1:{self._server.grpc_port}"
        with tritonclient.grpc.InferenceServerClient(address) as client:
            for text in itertools.cycle(SENTENCES):
                if self._over.is_set():
                    return
                self._note("grpc", text, time.monotonic(), *_ask_grpc(client, text))

    def _note(self, way: str, text: str, began: float, error: str | None, translation: Any) -> None:
        seconds = time.monotonic() - began
        right = translation == self._expected[text]
        self.seen.append(Seen(way, began, seconds, error, right))
        if error is not None:
            time.sleep(0.05)  # as a client would that tries again


def _ask_grpc(client: Any, text: str) -> tuple[str | None, Any]:
    tensor = tritonclient.grpc.InferInput("text", [1], "BYTES")
    tensor.set_data_from_numpy(np.array([text.encode()], dtype=np.object_))
    try:
        answer = client.infer("translate", [tensor], client_timeout=SILENCE_SECONDS)
    except InferenceServerException as error:
        return f"{error.status()}: {error.message()}", None
    return None, answer.as_numpy("translation")[0].decode()


def report(fault: str, traffic: Traffic | None, **figures: Any) -> None:
    """Append what was seen to the file that DRAGOMAN_FAULT_REPORT names, if it does."""
    path = os.environ.get("DRAGOMAN_FAULT_REPORT")
    if path:
        seen = traffic.summary() if traffic is not None else {}
        line = {"fault": fault, **figures, **seen}
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
