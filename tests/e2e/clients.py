"""Clients that translate all the time, and what each of their requests came to."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
import tritonclient.grpc as grpc
from tritonclient.utils import InferenceServerException

from serving.bundle import Bundle
from serving.options import DecodingOptions
from serving.translator import LocalTranslator
from tests.e2e.launched import REPOSITORY, LaunchedServer

SILENCE_SECONDS = 20.0
"""A request that has no answer and no error by then counts as silent."""
PAUSE_SECONDS = 0.1
TEXTS = [
    "Good morning.",
    "Where is the station?",
    "The children are playing in the garden.",
    "She reads a book every evening before she goes to bed.",
    "If it rains tomorrow, we will stay at home and read the books that you brought us.",
]


@cache
def offline() -> dict[str, str]:
    """The translations of `TEXTS`, without any server."""
    bundle = Bundle.open(REPOSITORY / "translator/1")
    translator = LocalTranslator(bundle.engine(1), bundle.text_processor())
    found = translator.translate(TEXTS, DecodingOptions())
    return {text: best[0].text for text, best in zip(TEXTS, found, strict=True)}


@dataclass(frozen=True)
class Outcome:
    """What one request came to: `translated`, `wrong`, `refused` (no connection), `lost` (the
    connection broke), `error` or `silent`, `seconds` after it was sent."""

    kind: str
    seconds: float
    details: str


class Traffic:
    """Clients over HTTP and one over gRPC, each of which sends the next request after an answer."""

    def __init__(self, server: LaunchedServer, clients: int = 3) -> None:
        self.outcomes: list[Outcome] = []
        self._server = server
        self._ends = threading.Event()
        expected = offline()
        targets = [self._over_http] * (clients - 1) + [self._over_grpc]
        self._threads = [
            threading.Thread(target=self._run, args=(target, number, expected), daemon=True)
            for number, target in enumerate(targets)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(2 * SILENCE_SECONDS)

    def counts(self) -> Counter[str]:
        """How many requests came to what."""
        return Counter(outcome.kind for outcome in self.outcomes)

    def translated(self) -> int:
        """How many translations there were so far."""
        return self.counts()["translated"]

    def slowest_failure(self) -> float:
        """The longest that a client waited for an error, in seconds."""
        failures = [o.seconds for o in self.outcomes if o.kind != "translated"]
        return max(failures, default=0.0)

    def _run(self, target: Any, number: int, expected: dict[str, str]) -> None:
        while not self._ends.is_set():
            number += 1
            text = TEXTS[number % len(TEXTS)]
            began = time.monotonic()
            kind, details = target(text)
            if kind == "translated" and details != expected[text]:
                kind = "wrong"
            self.outcomes.append(Outcome(kind, time.monotonic() - began, details))
            if kind != "translated":
                self._ends.wait(PAUSE_SECONDS)

    def _over_http(self, text: str) -> tuple[str, str]:
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._server.http_port, timeout=SILENCE_SECONDS
        )
        try:
            body = json.dumps({"text": text})
            connection.request("POST", "/v2/models/translate/generate", body)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except ConnectionRefusedError as error:
            return "refused", str(error)
        except TimeoutError as error:
            return "silent", str(error)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return "lost", repr(error)
        finally:
            connection.close()
        if response.status != 200:
            return "error", answer["error"]
        return "translated", answer["translation"]

    def _over_grpc(self, text: str) -> tuple[str, str]:
        tensor = grpc.InferInput("text", [1], "BYTES")
        tensor.set_data_from_numpy(np.array([text.encode()], dtype=object))
        with grpc.InferenceServerClient(f"127.0.0.1:{self._server.grpc_port}") as client:
            try:
                result = client.infer("translate", [tensor], client_timeout=SILENCE_SECONDS)
            except InferenceServerException as error:
                status, message = str(error.status()), str(error)
                if "DEADLINE_EXCEEDED" in status:
                    return "silent", message
                if "UNAVAILABLE" not in status:
                    return "error", message
                is_refused = "onnection refused" in message or "connect" in message
                return "refused" if is_refused else "lost", message
        return "translated", result.as_numpy("translation")[0].decode()
