"""What the translator tells Prometheus, through Triton's custom metrics; see docs/metrics.md."""

from __future__ import annotations

import bisect
import threading
import time
from collections.abc import Iterable
from typing import Any

from serving.triton.interface import Triton
from serving.triton.open_requests import OpenRequest
from serving.triton.outcome import Outcome
from serving.worker import Counters

BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds in seconds."""

OPEN_REQUESTS = "dragoman_open_requests"
OPEN_REQUESTS_MEANING = "requests accepted and not yet answered"

Ended = tuple[OpenRequest, Outcome, float]
"""A request, how it ended, and when on time.monotonic's clock."""


class Histogram:
    """Seconds, counted in process and published as the counters of a Prometheus histogram.

    Triton's own histograms take one message to the server for each value, which costs some
    0.1 ms; this one takes a dozen for however many.
    """

    def __init__(self, metrics: Metrics, name: str, meaning: str) -> None:
        self._metrics, self._name = metrics, name
        bounds = [*(f"{bound:g}" for bound in BUCKETS), "+Inf"]
        self._bounds = bounds
        for bound in bounds:
            metrics.counter(f"{name}_bucket", meaning, le=bound)
        metrics.counter(f"{name}_sum", meaning)
        metrics.counter(f"{name}_count", meaning)

    def observe(self, values: Iterable[float]) -> None:
        """Add values, in seconds."""
        found = list(values)
        if not found:
            return
        counts = [0] * len(self._bounds)
        for value in found:
            counts[bisect.bisect_left(BUCKETS, value)] += 1
        total = 0
        for bound, count in zip(self._bounds, counts, strict=True):
            total += count
            self._metrics.add(f"{self._name}_bucket", total, le=bound)
        self._metrics.add(f"{self._name}_sum", sum(found))
        self._metrics.add(f"{self._name}_count", len(found))


class Metrics:
    """Counters and gauges of one model, to be changed from any thread.

    One at a time: two threads that change metrics at once bring down the whole server (Triton
    2.51, within a second where they do little else).
    """

    def __init__(self, triton: Triton, model: str) -> None:
        """Args: the module `triton_python_backend_utils`, and the label `model`."""
        self._triton, self._model = triton, model
        self._lock = threading.Lock()
        self._families: dict[str, Any] = {}  # must outlive their metrics
        self._metrics: dict[tuple[str, tuple[tuple[str, str], ...]], Any] = {}

    def counter(self, name: str, meaning: str, **labels: str) -> None:
        """Declare a counter, which shows from now on."""
        self._declare(name, meaning, self._triton.MetricFamily.COUNTER, labels)

    def gauge(self, name: str, meaning: str) -> None:
        """Declare a gauge, at 0."""
        self._declare(name, meaning, self._triton.MetricFamily.GAUGE, {})
        self.set(name, 0)

    def add(self, name: str, value: float, **labels: str) -> None:
        """Increase a counter."""
        if value > 0:
            with self._lock:
                self._metrics[name, tuple(labels.items())].increment(value)

    def set(self, name: str, value: float) -> None:
        """Set a gauge."""
        with self._lock:
            self._metrics[name, ()].set(value)

    def _declare(self, name: str, meaning: str, kind: Any, labels: dict[str, str]) -> None:
        if name not in self._families:
            family = self._triton.MetricFamily(name=name, description=meaning, kind=kind)
            self._families[name] = family
        metric = self._families[name].Metric(labels={"model": self._model, **labels})
        self._metrics[name, tuple(labels.items())] = metric


_COUNTERS = {
    "dragoman_sentences_total": "sentences translated",
    "dragoman_source_tokens_total": "source tokens of translated sentences",
    "dragoman_output_tokens_total": "tokens of their best hypotheses",
    "dragoman_truncations_total": "best hypotheses cut off at the length limit",
    "dragoman_steps_total": "decoder steps",
    "dragoman_step_rows_total": "rows of these, by their beam sizes",
    "dragoman_step_seconds_total": "time of these",
    "dragoman_encodings_total": "groups of sentences encoded",
    "dragoman_encode_seconds_total": "time of these",
}
_GAUGES = {
    OPEN_REQUESTS: OPEN_REQUESTS_MEANING,
    "dragoman_waiting_sentences": "sentences in the queue",
    "dragoman_in_flight_sentences": "sentences in batches",
    "dragoman_queue_limit_sentences": "most sentences that may wait before a new request's",
    "dragoman_stalled_seconds": "how long the engine's slowest worker has been in one turn",
    "dragoman_start_time_seconds": "Unix time at which the model was loaded",
}


class TranslatorMetrics:
    """The metrics of a `translator`."""

    def __init__(self, triton: Triton, model: str, queue: int) -> None:
        """Declare all, at zero where the model was not loaded before.

        Args:
            triton: the module `triton_python_backend_utils`.
            model: the model's name.
            queue: most sentences that may wait before a new request's.
        """
        self._metrics = metrics = Metrics(triton, model)
        for name, meaning in _COUNTERS.items():
            metrics.counter(name, meaning)
        for name, meaning in _GAUGES.items():
            metrics.gauge(name, meaning)
        for outcome in Outcome:
            metrics.counter("dragoman_requests_total", "requests ended", outcome=outcome)
        self._whole = Histogram(metrics, "dragoman_request_seconds", "from arrival to answer")
        self._queue = Histogram(metrics, "dragoman_first_join_seconds", "from arrival to a batch")
        self._before = Counters()
        metrics.set("dragoman_queue_limit_sentences", queue)
        metrics.set("dragoman_start_time_seconds", time.time())

    def show_open(self, count: int) -> None:
        """How many requests are open; from any thread."""
        self._metrics.set(OPEN_REQUESTS, count)

    def publish(self, counters: Counters, busy_seconds: float, ended: Iterable[Ended]) -> None:
        """Publish what has happened since the last time; from one thread."""
        add, before = self._metrics.add, self._before
        add("dragoman_steps_total", counters.steps - before.steps)
        add("dragoman_step_rows_total", counters.rows - before.rows)
        add("dragoman_step_seconds_total", counters.step_seconds - before.step_seconds)
        add("dragoman_encodings_total", counters.encodings - before.encodings)
        add("dragoman_encode_seconds_total", counters.encode_seconds - before.encode_seconds)
        self._before = counters
        self._metrics.set("dragoman_waiting_sentences", counters.waiting)
        self._metrics.set("dragoman_in_flight_sentences", counters.in_flight)
        self._metrics.set("dragoman_stalled_seconds", busy_seconds)
        self._publish_ended(list(ended))

    def _publish_ended(self, ended: list[Ended]) -> None:
        add = self._metrics.add
        for outcome in Outcome:
            count = sum(found is outcome for _, found, _ in ended)
            add("dragoman_requests_total", count, outcome=outcome)
        translated = [request for request, outcome, _ in ended if outcome is Outcome.OK]
        add("dragoman_sentences_total", sum(r.sentences for r in translated))
        add("dragoman_source_tokens_total", sum(r.source_tokens for r in translated))
        add("dragoman_output_tokens_total", sum(r.output_tokens for r in translated))
        add("dragoman_truncations_total", sum(r.truncations for r in translated))
        self._whole.observe(when - request.arrived for request, _, when in ended)
        self._queue.observe(r.joined - r.arrived for r, _, _ in ended if r.joined is not None)
