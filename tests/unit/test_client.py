"""The client against a gRPC server that speaks Triton's protocol and has bad moments."""

from __future__ import annotations

import contextlib
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from bench.served.server import free_ports
from serving.client import (
    Client,
    ClosedError,
    DeadlineError,
    DragomanError,
    NotReadyError,
    OverloadError,
    RequestError,
    Result,
    ServerError,
    UnreachableError,
)
from serving.client.translator import ServerTranslator
from serving.request_options import Options
from serving.translator import Translation
from tests.unit.triton_double import (
    OVERLOADED,
    Asked,
    TritonDouble,
    detailed,
    refuses,
    serving,
    upper_case,
    wait_for,
)


def test_a_text_becomes_a_result(client: Client) -> None:
    assert client.translate("one") == Result("ONE", 0.0)


def test_alternatives_follow_the_best(client: Client) -> None:
    found = client.translate("one", n_best=3)
    others = (Translation("ONE'", -1.0), Translation("ONE''", -2.0))
    assert found == Result("ONE", 0.0, others)


def test_details_are_parsed_where_the_server_gives_them(
    client: Client, triton: TritonDouble
) -> None:
    triton.script = [detailed]
    found = client.translate_many(["one", "three"])
    assert [result.details for result in found] == [{"length": 3}, {"length": 5}]


def test_options_travel_as_inputs_and_parameters(client: Client, triton: TritonDouble) -> None:
    client.translate(
        "one",
        beam_size=2,
        length_penalty=1.5,
        seed=2**63 - 1,
        temperature=1,
        top_p=0.5,
        prefix="A",
        glossary={"Maß": "measure"},
        suppress=("a", "b"),
        return_=["timings"],
    )
    (asked,) = triton.asked
    assert asked.model == "translate"
    assert asked.inputs == {"beam_size": 2, "length_penalty": 1.5}
    assert asked.parameters == {
        "seed": 2**63 - 1,
        "temperature": 1,
        "top_p": 0.5,
        "prefix": "A",
        "glossary": '{"Maß": "measure"}',
        "suppress": '["a", "b"]',
        "return": '["timings"]',
    }
    assert json.loads(asked.parameters["glossary"]) == {"Maß": "measure"}


def test_the_server_is_told_the_time_that_is_left(client: Client, triton: TritonDouble) -> None:
    client.translate("one", timeout=5)
    client.translate("one")
    assert [round(asked.timeout) for asked in triton.asked] == [5, 20]


def test_a_wrong_option_reaches_no_server(client: Client, triton: TritonDouble) -> None:
    with pytest.raises(RequestError, match="did you mean 'beam_size'"):
        client.translate("one", beamsize=2)  # type: ignore[call-arg]
    with pytest.raises(RequestError, match="one text"):
        client.translate_many("one")
    with pytest.raises(RequestError, match="text 0 must be a text"):
        client.translate(1)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match=r"text 1 is no valid Unicode: half a character at 1"):
        client.translate_many(["one", "t\ud800"])
    with pytest.raises(RequestError, match="more than 0 seconds"):
        client.translate("one", timeout=0)
    with pytest.raises(RequestError, match="temperature"):
        client.stream("one", temperature=11)  # before anything is taken from it
    assert triton.asked == []


@pytest.mark.parametrize(
    "message",
    [
        "Request for unknown model: 'translate' has no available versions",
        "in ensemble 'translate', the engine is stuck: a step has taken 60 s",
    ],
)
def test_a_model_that_comes_back_is_asked_again(
    client: Client, triton: TritonDouble, message: str
) -> None:
    triton.script = [refuses(grpc.StatusCode.UNAVAILABLE, message)] * 2
    assert client.translate("one") == Result("ONE", 0.0)
    assert len(triton.asked) == 3


def test_an_overloaded_server_is_asked_until_time_is_over(
    client: Client, triton: TritonDouble
) -> None:
    triton.script = [OVERLOADED] * 100
    began = time.monotonic()
    with pytest.raises(OverloadError, match="127.0.0.1:.*overloaded: try again"):
        client.translate("one", timeout=1)
    assert time.monotonic() - began < 1
    assert len(triton.asked) > 1


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, RequestError),
        (grpc.StatusCode.INTERNAL, ServerError),
        (grpc.StatusCode.CANCELLED, ClosedError),
    ],
)
def test_other_errors_are_told_at_once(
    client: Client, triton: TritonDouble, code: grpc.StatusCode, kind: type[DragomanError]
) -> None:
    triton.script = [refuses(code, "no good")]
    with pytest.raises(kind, match="127.0.0.1:.*no good"):
        client.translate("one")
    assert len(triton.asked) == 1


def test_a_deadline_by_the_server_is_one(client: Client, triton: TritonDouble) -> None:
    triton.script = [refuses(grpc.StatusCode.CANCELLED, "deadline: not translated within 1 s")]
    with pytest.raises(DeadlineError, match="not translated within"):
        client.translate("one")


def test_a_late_answer_is_given_up_on_both_sides(client: Client, triton: TritonDouble) -> None:
    triton.script = [triton.waits]
    with pytest.raises(DeadlineError, match="within the timeout"):
        client.translate("one", timeout=0.2)
    assert triton.cancelled.wait(5)
    assert len(triton.asked) == 1


def test_nobody_there_is_told_with_the_address() -> None:
    (port,) = free_ports(1)
    began = time.monotonic()
    with (
        Client(f"127.0.0.1:{port}", patience=0.5) as client,
        pytest.raises(UnreachableError, match=rf"127.0.0.1:{port}.*refused.*dragoman serve"),
    ):
        client.translate("one")
    assert time.monotonic() - began < 2


def test_a_server_that_starts_late_is_found(triton: TritonDouble) -> None:
    (port,) = free_ports(1)
    with Client(f"127.0.0.1:{port}") as client, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.translate, "one")
        time.sleep(0.5)
        with serving(triton, f"127.0.0.1:{port}"):
            assert waiting.result(10) == Result("ONE", 0.0)


def test_check_says_whether_the_model_is_ready(client: Client, triton: TritonDouble) -> None:
    client.check()
    triton.ready = False
    with pytest.raises(NotReadyError, match="'translate' is not ready"):
        client.check()


def test_many_texts_keep_their_order_and_fly_together(client: Client, triton: TritonDouble) -> None:
    most = 0

    def slowly(asked: Asked, context: Any) -> Any:
        nonlocal most
        most = max(most, triton.open)
        time.sleep(0.02 if asked.texts[0] == "text 0" else 0)
        return upper_case(asked, context)

    triton.script = [slowly] * 50
    done: list[int] = []
    found = client.translate_many([f"text {n}" for n in range(500)], on_done=done.append)
    assert [result.translation for result in found] == [f"TEXT {n}" for n in range(500)]
    assert sum(done) == 500
    assert most > 1
    assert max(len(asked.texts) for asked in triton.asked) <= 16
    assert client.translate_many([]) == []


def test_one_bad_text_ends_all_its_company(client: Client, triton: TritonDouble) -> None:
    bad = refuses(grpc.StatusCode.INVALID_ARGUMENT, "too long")
    triton.script = [bad] + [triton.waits] * 50
    with pytest.raises(RequestError, match="too long"):
        client.translate_many(["text"] * 500)
    wait_for(triton.is_idle)
    assert triton.cancelled.is_set() or len(triton.asked) == 1


def test_threads_share_a_client(client: Client, triton: TritonDouble) -> None:
    texts = [f"text {n}" for n in range(200)]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda text: client.translate(text).translation, texts))
    assert found == [text.upper() for text in texts]


@pytest.mark.parametrize("answer", ["waits", "refuses"])
def test_closing_ends_what_waits_in_another_thread(
    client: Client, triton: TritonDouble, answer: str
) -> None:
    triton.script = [triton.waits if answer == "waits" else OVERLOADED] * 100
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.translate, "one")
        wait_for(lambda: len(triton.asked) > 0)
        client.close()
        with pytest.raises(ClosedError, match="the client was closed"):
            waiting.result(5)
    wait_for(triton.is_idle)
    with pytest.raises(ClosedError):
        client.translate("one")


def test_an_interruption_leaves_nothing_running(client: Client, triton: TritonDouble) -> None:
    triton.script = [upper_case] + [triton.waits] * 50

    def interrupt(count: int) -> None:
        raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        client.translate_many(["text"] * 500, on_done=interrupt)
    wait_for(triton.is_idle)


def test_a_server_translates_as_commands_want_it(triton: TritonDouble) -> None:
    with serving(triton) as address:
        translator = ServerTranslator(address)
        found = translator.translate(["one", "two"], Options(n_best=2), lambda _: None)
    assert found[1] == [Translation("TWO", 0.0), Translation("TWO'", -1.0)]
    (asked,) = triton.asked
    assert asked.inputs == {"n_best": 2}
    assert asked.parameters == {}
