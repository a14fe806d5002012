"""When the first sentence of a streamed text comes."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
import time
from collections.abc import Callable, Sequence

from serving.client import Client


@dataclasses.dataclass(frozen=True)
class StreamTimes:
    """Seconds of several texts, streamed and at once.

    Attributes:
        first: until its first sentence was there, by text.
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
    client: Client, texts: Sequence[str], on_done: Callable[[], object]
) -> StreamTimes:
    """Stream each text and translate it at once."""
    first, last, at_once = [], [], []
    for text in texts:
        began = time.perf_counter()
        moments = [time.perf_counter() - began for _ in client.stream(text)]
        first.append(moments[0])
        last.append(moments[-1])
        began = time.perf_counter()
        client.translate(text)
        at_once.append(time.perf_counter() - began)
        on_done()
    return StreamTimes(first, last, at_once)


def texts_of(lines: Sequence[str], sentences: int, texts: int) -> list[str]:
    """Texts of so many lines that are one sentence each, in paragraphs of five.

    Each is of the next lines, for the length of the first sentence decides when it is there.
    """
    endless = itertools.cycle(line for line in lines if line.strip())
    found = []
    for _ in range(texts):
        chosen = list(itertools.islice(endless, sentences))
        groups = [" ".join(chosen[start : start + 5]) for start in range(0, len(chosen), 5)]
        found.append("\n\n".join(groups))
    return found
