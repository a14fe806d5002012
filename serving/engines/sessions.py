"""ONNX Runtime's sessions of one model: wide ones for a lone decoder, narrow ones for several."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

import onnxruntime

from serving.errors import ConfigError

Graph = Path | bytes


class Pair(NamedTuple):
    """Sessions of both graphs, with as many threads each."""

    encoder: Any
    step: Any


class Sessions:
    """Both graphs, in sessions that share the threads between the decoders at work.

    One decoder alone has all threads. Several take a share each: on two cores two of one thread
    did 1.6 times the work of one of two threads, because nobody waits for anybody within an
    operator, and one is in Python while the other computes. Sums are the same either way.

    Idle threads sleep. Spinning, ONNX Runtime's default, gains nothing for the base model and
    takes the cores from the other decoders and from Triton's processes.
    """

    def __init__(
        self, encoder: Graph, step: Graph, threads: int, workers: int, profile: Path | None
    ) -> None:
        """See `OnnxEngine`."""
        self._lock = threading.Lock()
        self._busy = 0
        self.wide = Pair(cpu_session(encoder, threads), cpu_session(step, threads, profile))
        self._narrow = self.wide
        if workers > 1:
            share = max(1, (threads or os.cpu_count() or 1) // workers)
            self._narrow = Pair(cpu_session(encoder, share), cpu_session(step, share))

    def begin(self) -> None:
        """A decoder starts to work."""
        with self._lock:
            self._busy += 1

    def end(self) -> None:
        """A decoder has nothing left in flight."""
        with self._lock:
            self._busy -= 1

    def now(self) -> Pair:
        """What to run on."""
        return self.wide if self._busy <= 1 else self._narrow


def cpu_session(graph: Graph, threads: int, profile: Path | None = None) -> Any:
    """A session of one graph as every engine on CPUs runs it; `threads` 0 is one a core.

    Raises:
        ConfigError: ONNX Runtime refuses the graph.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, str(profile)
    source = graph if isinstance(graph, bytes) else str(graph)
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's errors share no base class of their own
        name = "the graph" if isinstance(graph, bytes) else graph
        raise ConfigError(f"ONNX Runtime cannot load {name}: {error}") from error
