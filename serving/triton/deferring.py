"""Small requests answered at once, large ones by a thread: a book holds up no sentence."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from serving.triton.answers import Arrays, answer
from serving.triton.interface import Request, Requests, Triton
from serving.triton.open_count import OpenCount

THREADS = 2
"""Large requests side by side; they share Python's lock with the small ones."""


class Deferring:
    """Answers the requests of a model."""

    def __init__(
        self,
        triton: Triton,
        model: str,
        handle: Callable[[Request], Arrays],
        is_large: Callable[[Request], bool],
    ) -> None:
        """Prepare.

        Args:
            triton: the module `triton_python_backend_utils`.
            model: the model's name, a label of its metrics.
            handle: makes the answer to a request.
            is_large: whether that takes more than a moment.
        """
        self._triton, self._handle, self._is_large = triton, handle, is_large
        self._open = OpenCount(triton, model)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="dragoman-large")

    def execute(self, requests: Requests) -> None:
        """Answer each request, now or later."""
        for request in requests:
            reply = partial(answer, self._triton, request, self._handle)
            if not self._is_large(request):
                reply()
                continue
            self._open.add(1)
            self._pool.submit(reply).add_done_callback(lambda _: self._open.add(-1))

    def close(self) -> None:
        """Finish what was accepted."""
        self._pool.shutdown()
