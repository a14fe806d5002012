"""A bar for builds, which take minutes on a GPU."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

if TYPE_CHECKING:
    import tensorrt as trt


@contextlib.contextmanager
def progress(trt: ModuleType, config: trt.IBuilderConfig, title: str) -> Iterator[None]:
    """Show how far the build with this configuration is, where standard error is a terminal."""
    with tqdm(desc=title, unit="step", leave=False, disable=None) as bar:
        monitor = _monitor(trt, bar)
        config.progress_monitor = monitor
        try:
            yield
        finally:
            config.progress_monitor = None


def _monitor(trt: ModuleType, bar: tqdm[Any]) -> Any:
    class Monitor(trt.IProgressMonitor):  # type: ignore[misc,name-defined]
        """Counts the steps of all phases; a phase's are known when it starts.

        TensorRT calls it from several threads.
        """

        def __init__(self) -> None:
            trt.IProgressMonitor.__init__(self)
            self.lock = threading.Lock()

        def phase_start(self, phase_name: str, _parent_phase: str | None, num_steps: int) -> None:
            with self.lock:
                bar.total = (bar.total or 0) + num_steps
                bar.set_postfix_str(phase_name)

        def phase_finish(self, phase_name: str) -> None:
            """A phase may end early; the bar is gone soon anyway."""

        def step_complete(self, _phase_name: str, _step: int) -> bool:
            with self.lock:
                bar.update()
            return True

    return Monitor()
