"""Where the time of a decoding step goes, by parts that a reader of the paper knows."""

from __future__ import annotations

import collections
import dataclasses
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from serving.batch import Batch, Sentence
from serving.bundle import Bundle
from serving.engines.onnx import OnnxEngine
from serving.options import DecodingOptions

HOST = "host (Python and NumPy)"
OTHER = "between operators"
PARTS = (
    ("projection", ("projection/",)),
    ("feed-forward", ("feed_forward.",)),
    ("other linear layers", ("qkv.", "output.", "query.", "cross_output.")),
    ("embedding", ("transformer.embedding", "transformer.positions")),
)
"""Parts by how the names of their nodes begin; see `export.trace`."""
SELECTION = ("LogSoftmax", "ReduceMax", "TopK", "GatherElements")


@dataclasses.dataclass(frozen=True)
class StepProfile:
    """Milliseconds of an average step, by part, the largest first."""

    steps: int
    rows: float
    milliseconds: dict[str, float]

    @property
    def total(self) -> float:
        """Milliseconds of the whole step."""
        return sum(self.milliseconds.values())

    def __str__(self) -> str:
        lines = [f"{self.steps} steps of {self.rows:.1f} rows, {self.total:.2f} ms each"]
        lines += [
            f"  {part:<26}{spent:8.3f} ms {100 * spent / self.total:5.1f} %"
            for part, spent in self.milliseconds.items()
        ]
        return "\n".join(lines)


def profile_steps(
    bundle: Bundle, sentences: Sequence[Sequence[int]], options: DecodingOptions, threads: int = 0
) -> StepProfile:
    """Translate sentences together, once to warm up, once timed and once with node timings.

    Node timings slow a step down, so that they only share out what the operators took together
    in the timed pass.
    """
    plain = bundle.engine(threads)
    _translate(plain, sentences, options)
    seconds, run_seconds, steps, rows = _translate(plain, sentences, options)
    with tempfile.TemporaryDirectory(prefix="dragoman-profile-") as folder:
        engine = bundle.engine(threads, profile=Path(folder) / "step")
        _translate(engine, sentences, options)
        events = json.loads(Path(engine.sessions.wide.step.end_profiling()).read_text("utf-8"))
    parts = _share_out(events, run_seconds)
    parts[HOST] = seconds - run_seconds
    ranked = sorted(parts.items(), key=lambda item: -item[1])
    return StepProfile(steps, rows / steps, {k: 1000 * v / steps for k, v in ranked})


def _translate(
    engine: OnnxEngine, sentences: Sequence[Sequence[int]], options: DecodingOptions
) -> tuple[float, float, int, int]:
    """Seconds in steps, of these in ONNX Runtime, steps, and rows summed over them."""
    wide = engine.sessions.wide
    session = _Stopwatch(wide.step)
    engine.sessions.wide = wide._replace(step=session)
    batch: Batch[int] = Batch(engine)
    batch.join([Sentence(ids, options, n) for n, ids in enumerate(sentences)])
    steps = rows = 0
    start = time.perf_counter()
    while batch.sentences:
        rows += batch.rows
        batch.step()
        steps += 1
    seconds = time.perf_counter() - start
    engine.sessions.wide = wide
    return seconds, session.seconds, steps, rows


class _Stopwatch:
    """A session that adds up the seconds of its runs."""

    def __init__(self, session: Any) -> None:
        self.timed = session
        self.seconds = 0.0

    def io_binding(self) -> Any:
        """The session's own."""
        return self.timed.io_binding()

    def run_with_iobinding(self, binding: Any) -> None:
        """Run and time it."""
        start = time.perf_counter()
        self.timed.run_with_iobinding(binding)
        self.seconds += time.perf_counter() - start


def _share_out(events: Sequence[dict[str, Any]], seconds: float) -> dict[str, float]:
    """The operators' timings by part, scaled to the seconds of unprofiled runs."""
    nodes: collections.Counter[str] = collections.Counter()
    runs = 0.0
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            nodes[_part(event["name"], event["args"]["op_name"])] += event["dur"]
        elif event.get("name") == "model_run":
            runs += event["dur"]
    nodes[OTHER] = max(0, int(runs) - sum(nodes.values()))
    total = sum(nodes.values())
    return {part: seconds * spent / total for part, spent in nodes.items()}


def _part(node: str, operator: str) -> str:
    for part, beginnings in PARTS:
        if node.startswith(beginnings):
            return part
    if operator in SELECTION or node.startswith(("graph/", "_empty")):
        return "selection (top-k)" if operator != "Split" else "other linear layers"
    if operator == "ScatterND":
        return "cache"
    if operator in ("MultiHeadAttention", "Gather", "Reshape"):
        return "self-attention" if "self_attention" in node else "cross-attention"
    return "residuals and norms"
