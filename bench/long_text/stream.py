"""When the first sentence of a streamed text comes."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence

from serving.client import Client


@dataclasses.dataclass(frozen=True)
class StreamTimes:
    """Seconds of one text, streamed and at once.

    Attributes:
        first: until its first sentence was there, by repetition.
        all: until the last was.
        at_once: until `translate` answered for the whole text.
    """

    first: list[float]
    all: list[float]
    at_once: list[float]

    @property
    def share(self) -> float:
        """The median share of the whole time after which the first sentence was there."""
        return statistics.median(f / a for f, a in zip(self.first, self.all, strict=True))


def stream_times(
    client: Client, text: str, repetitions: int, on_done: Callable[[], object]
) -> StreamTimes:
    """Stream a text and translate it at once, by turns."""
    first, last, at_once = [], [], []
    for _ in range(repetitions):
        began = time.perf_counter()
        moments = [time.perf_counter() - began for _ in client.stream(text)]
        first.append(moments[0])
        last.append(moments[-1])
        began = time.perf_counter()
        client.translate(text)
        at_once.append(time.perf_counter() - began)
        on_done()
    return StreamTimes(first, last, at_once)


def text_of(lines: Sequence[str], sentences: int) -> str:
    """A text of so many lines that are one sentence each, in paragraphs of five."""
    chosen = [line for line in lines if line.strip()][:sentences]
    groups = [" ".join(chosen[start : start + 5]) for start in range(0, len(chosen), 5)]
    return "\n\n".join(groups)
