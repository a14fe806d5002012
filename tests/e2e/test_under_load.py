"""More to do than can be done, clients that leave or are in a hurry, and a stop amid all that."""

from __future__ import annotations

import http.client
import json
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc
from tritonclient.utils import InferenceServerException

from serving.client.translator import ServerTranslator
from serving.request_options import Options
from tests.e2e.launched import REPOSITORY, LaunchedServer, wait_until
from tests.e2e.traffic import SENTENCES, Traffic, offline_translations, report

QUEUE = 60
"""Of the server here: a queue that tests can fill."""

MANY = [f"There are {n} books on the table, and nobody reads them." for n in range(200)]


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    return offline_translations()


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaunchedServer]:
    """A server with a short queue, shared by these tests."""
    log = tmp_path_factory.mktemp("busy") / "server.log"
    with LaunchedServer(REPOSITORY, log, DRAGOMAN_QUEUE=str(QUEUE)) as launched:
        yield launched
        assert launched.runs(), launched.output()


def is_idle(server: LaunchedServer) -> bool:
    names = ("open_requests", "waiting_sentences", "in_flight_sentences")
    return all(server.metric(f"dragoman_{name}") == 0 for name in names)


def test_a_full_queue_refuses_and_what_was_accepted_is_answered(
    busy: LaunchedServer, expected: dict[str, str]
) -> None:
    before = busy.metric("dragoman_requests_total", outcome="overloaded")
    with Traffic(busy, expected, clients=2) as traffic, ThreadPoolExecutor(24) as pool:
        texts = SENTENCES * 4
        answers = list(pool.map(lambda _: busy.generate(text=texts), range(48)))
    traffic.check()
    refused = [answer["error"] for status, answer in answers if status != 200]
    assert refused
    assert all("overloaded: " in error and "try again" in error for error in refused)
    assert all("overloaded: " in error for error in traffic.errors)
    translations = [answer["translation"] for status, answer in answers if status == 200]
    assert translations
    assert all(found == [expected[text] for text in texts] for found in translations)
    wait_until(lambda: is_idle(busy), "idle again")
    overloaded = busy.metric("dragoman_requests_total", outcome="overloaded") - before
    assert overloaded == len(refused) + len(traffic.errors)
    report("full queue", traffic, accepted=len(translations), refused=len(refused))


def test_the_command_lines_client_waits_for_an_overloaded_server(busy: LaunchedServer) -> None:
    before = busy.metric("dragoman_requests_total", outcome="overloaded")
    client = ServerTranslator(f"127.0.0.1:{busy.grpc_port}")
    found = client.translate(MANY * 2, Options())
    assert len(found) == 2 * len(MANY)
    assert found[: len(MANY)] == found[len(MANY) :]
    wait_until(lambda: is_idle(busy), "idle again")
    assert busy.metric("dragoman_requests_total", outcome="overloaded") > before


def in_a_hurry(server: LaunchedServer, way: str) -> str:
    """The error of 200 texts that are to be translated within 50 ms."""
    if way == "generate":
        return str(server.generate(text=MANY, timeout=50_000)[1]["error"])
    values = np.array([text.encode() for text in MANY], dtype=np.object_)
    if way == "http":
        body = {
            "parameters": {"timeout": 50_000},
            "inputs": [{"name": "text", "shape": [200], "datatype": "BYTES", "data": MANY}],
        }
        return str(server.post(json.dumps(body).encode(), "infer")[1]["error"])
    tensor = tritonclient.grpc.InferInput("text", [200], "BYTES")
    tensor.set_data_from_numpy(values)
    with tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{server.grpc_port}") as client:
        with pytest.raises(InferenceServerException) as caught:
            client.infer("translate", [tensor], timeout=50_000)
        assert caught.value.status() == "StatusCode.CANCELLED"
        return str(caught.value.message())


def test_a_deadline_ends_a_request_and_frees_its_rows(
    busy: LaunchedServer, expected: dict[str, str]
) -> None:
    wait_until(lambda: is_idle(busy), "idle")
    with Traffic(busy, expected, clients=1) as traffic:
        for way in ("generate", "http", "grpc"):
            began = time.monotonic()
            error = in_a_hurry(busy, way)
            assert "deadline: not translated within 0.05 s" in error
            assert time.monotonic() - began < 5
    traffic.check()
    assert all("overloaded: " in error for error in traffic.errors)
    wait_until(lambda: is_idle(busy), "rows freed")
    assert busy.metric("dragoman_requests_total", outcome="deadline") == 3
    report("deadline passed", traffic)


def test_clients_that_hang_up_harm_nobody(busy: LaunchedServer, expected: dict[str, str]) -> None:
    wait_until(lambda: is_idle(busy), "idle")
    with Traffic(busy, expected, clients=1) as traffic:
        for _ in range(5):
            connection = http.client.HTTPConnection("127.0.0.1", busy.http_port)
            body = json.dumps({"text": MANY[:50], "timeout": 2_000_000})
            connection.request("POST", "/v2/models/translate/generate", body)
            time.sleep(0.05)
            connection.close()
    traffic.check()
    # HTTP does not tell the model: what was asked for is translated, or its time passes.
    wait_until(lambda: is_idle(busy), "rows freed")
    report("client hangs up (HTTP)", traffic)


def test_a_grpc_client_that_gives_up_frees_its_rows(
    busy: LaunchedServer, expected: dict[str, str]
) -> None:
    wait_until(lambda: is_idle(busy), "idle")
    ids = np.tile(np.arange(20, 60, dtype=np.int32), 200)
    lengths = np.full(200, 40, dtype=np.int32)
    inputs = []
    for name, array in (("ids", ids), ("lengths", lengths)):
        inputs.append(tritonclient.grpc.InferInput(name, list(array.shape), "INT32"))
        inputs[-1].set_data_from_numpy(array)
    with (
        Traffic(busy, expected, clients=1) as traffic,
        tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{busy.grpc_port}") as client,
    ):
        answers: list[Any] = []
        call = client.async_infer("translator", inputs, lambda *answer: answers.append(answer))
        wait_until(lambda: busy.metric("dragoman_in_flight_sentences") > 8, "in flight")
        began = time.monotonic()
        call.cancel()
        wait_until(
            lambda: busy.metric("dragoman_requests_total", outcome="cancelled") == 1, "cancelled"
        )
        seconds = time.monotonic() - began
    traffic.check()
    wait_until(lambda: is_idle(busy), "rows freed")
    report("client gives up (gRPC, translator)", traffic, rows_freed_s=round(seconds, 2))


def test_two_hundred_clients_at_once(server: LaunchedServer, expected: dict[str, str]) -> None:
    with Traffic(server, expected, clients=200) as traffic:
        wait_until(lambda: len(traffic.seen) >= 600, "three requests a client")
    traffic.check()
    assert not traffic.errors
    report("200 clients", traffic)


def test_a_stop_under_load_answers_what_was_accepted(
    expected: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = tmp_path_factory.mktemp("stopped") / "server.log"
    with LaunchedServer(REPOSITORY, log) as server, Traffic(server, expected, 8) as traffic:
        wait_until(lambda: len(traffic.seen) > 40, "traffic")
        with ThreadPoolExecutor(1) as pool:
            big = pool.submit(server.generate, text=MANY)
            # More than the other clients have: the big request is there.
            wait_until(lambda: server.metric("dragoman_waiting_sentences") > 20, "it is under way")
            began = time.monotonic()
            assert server.stop(signal.SIGTERM) == 0
            seconds = time.monotonic() - began
            status, answer = big.result()
    assert status == 200
    assert len(answer["translation"]) == len(MANY)
    traffic.check()
    # What came before was answered; what came after was refused, or found nobody.
    late = [seen for seen in traffic.seen if seen.error is not None]
    assert all(seen.began > began for seen in late)
    report("SIGTERM under load", traffic, stopped_after_s=round(seconds, 2))
