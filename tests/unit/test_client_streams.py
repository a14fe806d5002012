"""Streams of the client, against the same server, which breaks them in every way."""

from __future__ import annotations

import threading
from typing import Any

import grpc
import pytest

from serving.client import (
    Client,
    ClosedError,
    DeadlineError,
    DragomanError,
    OverloadError,
    Part,
    RequestError,
    ServerError,
    UnreachableError,
)
from tests.unit.triton_double import (
    OVERLOADED,
    TritonDouble,
    part,
    refuses,
    stream_of,
    wait_for,
)


def test_parts_come_one_by_one(client: Client, triton: TritonDouble) -> None:
    parts = list(client.stream("a b c", beam_size=2))
    assert parts[1] == Part("B", 1, 3, 1, 2, " ", "")
    assert "".join(each.text for each in parts) == "A B C"
    assert triton.asked[0].model == "translate_stream"
    assert triton.asked[0].inputs == {"beam_size": 2}


def test_a_stream_without_a_last_response_ends_too(client: Client, triton: TritonDouble) -> None:
    triton.script = [stream_of(part("a b", 1), part("a b", 0))]
    assert [each.index for each in client.stream("a b")] == [1, 0]


@pytest.mark.parametrize("fault", [OVERLOADED, "overloaded: try again"])
def test_a_stream_that_was_refused_is_tried_again(
    client: Client, triton: TritonDouble, fault: Any
) -> None:
    triton.script = [stream_of(fault)]
    assert len(list(client.stream("a b"))) == 2
    assert len(triton.asked) == 2


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (OVERLOADED, OverloadError),
        ("overloaded: try again", OverloadError),
        (refuses(grpc.StatusCode.UNAVAILABLE, "Socket closed"), UnreachableError),
        ("internal error: KeyError", ServerError),
        ("beam_size must be 1 to 8", RequestError),
    ],
)
def test_a_stream_that_breaks_is_not_begun_anew(
    client: Client, triton: TritonDouble, fault: Any, kind: type[DragomanError]
) -> None:
    triton.script = [stream_of(part("a b", 0), fault)]
    stream = client.stream("a b")
    assert next(stream).translation == "A"
    with pytest.raises(kind):
        next(stream)
    assert len(triton.asked) == 1


def test_leaving_a_stream_ends_the_servers_work(client: Client, triton: TritonDouble) -> None:
    triton.script = [stream_of(part("a b", 0), triton.waits)]
    for each in client.stream("a b"):
        assert each.index == 0
        break
    assert triton.cancelled.wait(5)
    wait_for(triton.is_idle)


def test_a_stream_has_a_deadline_and_ends_with_its_client(
    client: Client, triton: TritonDouble
) -> None:
    triton.script = [stream_of(part("a b", 0), triton.waits)] * 2
    with pytest.raises(DeadlineError):
        list(client.stream("a b", timeout=0.2))
    stream = client.stream("a b")
    next(stream)
    threading.Timer(0.1, client.close).start()
    with pytest.raises(ClosedError):
        next(stream)
    wait_for(triton.is_idle)
