"""Good requests, over every way in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.e2e.launched import LaunchedServer
from tests.e2e.nvidia_client import GRPC, HTTP, infer, option, texts

TEXTS = ["Good morning.", "Where is the station?", "I don't have time.", "She reads a book."]


def test_one_text_gives_one_translation_and_its_score(server: LaunchedServer) -> None:
    status, answer = server.generate(text="Good morning.")
    assert status == 200
    assert isinstance(answer["translation"], str)
    assert answer["translation"].strip()
    assert answer["score"] < 0


def test_a_list_of_texts_gives_a_list(server: LaunchedServer) -> None:
    _, answer = server.generate(text=TEXTS)
    assert answer["translation"] == [server.translate(text) for text in TEXTS]
    assert len(answer["score"]) == len(TEXTS)


def test_a_hundred_texts_keep_their_order(server: LaunchedServer) -> None:
    numbered = [f"{TEXTS[n % 4]} It is number {n}." for n in range(100)]
    _, answer = server.generate(text=numbered, beam_size=1)
    assert len(answer["translation"]) == 100
    for n in (0, 1, 42, 99):
        assert answer["translation"][n] == server.translate(numbered[n], beam_size=1)


@pytest.mark.parametrize("way", [HTTP, GRPC])
def test_nvidia_clients_get_what_curl_gets(server: LaunchedServer, way: str) -> None:
    translations, scores = infer(server, way, {"text": texts(*TEXTS)})
    _, answer = server.generate(text=TEXTS)
    assert translations == answer["translation"]
    assert scores == pytest.approx(answer["score"])


@pytest.mark.parametrize("way", [HTTP, GRPC])
@pytest.mark.parametrize(
    "options", [{"beam_size": 2}, {"length_penalty": 1.5}, {"n_best": 3}, {"beam_size": 1}]
)
def test_an_option_means_the_same_by_every_road(
    server: LaunchedServer, way: str, options: dict[str, Any]
) -> None:
    _, answer = server.generate(text=TEXTS[:2], **options)
    arrays = {"text": texts(*TEXTS[:2])}
    inputs = {name: option(name, value) for name, value in options.items()}
    as_input = infer(server, way, arrays | inputs)
    as_parameter = infer(server, way, arrays, parameters=options)
    assert as_input == as_parameter
    assert as_input[0] == answer["translation"]


def test_options_reach_the_search(server: LaunchedServer) -> None:
    _, plain = server.generate(text=TEXTS[1], length_penalty=0.0)
    _, normalised = server.generate(text=TEXTS[1], length_penalty=1.0)
    assert plain["score"] < normalised["score"]


def test_n_best_gives_that_many_entries_best_first(server: LaunchedServer) -> None:
    _, answer = server.generate(text=TEXTS, beam_size=5, n_best=3)
    scores = np.array(answer["score"]).reshape(len(TEXTS), 3)
    assert np.all(np.diff(scores, axis=1) <= 0)
    best = answer["translation"][::3]
    assert best == [server.translate(text, beam_size=5) for text in TEXTS]


def test_metrics_and_health_are_served(server: LaunchedServer) -> None:
    status, body = server.get("/metrics", server.metrics_port)
    assert status == 200
    assert b"nv_inference_request_success" in body
    assert server.get("/v2/health/ready")[0] == 200
    assert server.is_ready()
