"""Streams side by side: threads that prepare texts and ask for their sentences."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from serving.errors import RequestError
from serving.ping import PING_ID
from serving.preparation import Preparation
from serving.triton.answers import failure
from serving.triton.asking import Asker
from serving.triton.inputs import required_input, texts_of
from serving.triton.interface import Request, ResponseSender, Triton
from serving.triton.open_count import OpenCount
from serving.triton.options import options_of, seconds_of
from serving.triton.stream import Stream

THREADS = 64
"""Sentences of all texts that are asked for at a time."""

BEGINNING_THREADS = 4

SECONDS = 3600.0
"""A text may take so long where its client does not say; each sentence has the translator's own
deadline, too."""


class StreamService:
    """Answers each request with a stream."""

    def __init__(self, triton: Triton, prepare: Preparation, translator: str, model: str) -> None:
        """Start.

        Args:
            triton: the module `triton_python_backend_utils`.
            prepare: of the model's texts.
            translator: name of the model that is asked.
            model: this model's, a label of its metrics.
        """
        self._triton, self._prepare = triton, prepare
        self._ask = Asker(triton, translator)
        self._open = OpenCount(triton, model)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="dragoman-stream")
        # Threads of their own: a translator that is stuck keeps nobody from being answered here.
        self._beginning = ThreadPoolExecutor(BEGINNING_THREADS, thread_name_prefix="dragoman-text")

    def enqueue(self, request: Request) -> None:
        """Begin a stream and return at once."""
        # The launcher's question is no client's: nobody would miss the answer to it.
        change = 0 if request.request_id() == PING_ID else 1
        self._open.add(change)
        self._beginning.submit(self._begin, request, request.get_response_sender(), change)

    def close(self) -> None:
        """Finish what was accepted."""
        while self._open.value:
            time.sleep(0.01)
        self._beginning.shutdown()
        self._pool.shutdown()

    def _begin(self, request: Request, sender: ResponseSender, counted: int) -> None:
        ended = partial(self._open.add, -counted)
        try:
            stream = self._stream(request, sender, ended)
        except Exception as error:
            sender.send(failure(self._triton, error))
            sender.send(flags=self._triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
            ended()
            return
        if not stream.total:
            stream.send_blank()
        self._go_on(stream)

    def _stream(
        self, request: Request, sender: ResponseSender, ended: Callable[[], object]
    ) -> Stream:
        options = options_of(self._triton, request)
        if (options.n_best or 1) > 1:
            raise RequestError("a stream gives the best translation alone: n_best must be 1")
        if options.return_:
            raise RequestError("a stream gives no details: return must be empty")
        texts = texts_of(required_input(self._triton, request, "text"))
        if len(texts) != 1:
            raise RequestError(f"a stream is of one text, not {len(texts)}: send several requests")
        prepared = self._prepare(texts, options)
        until = time.monotonic() + (seconds_of(request) or SECONDS)
        return Stream(self._triton, sender, self._prepare.codec, prepared, until, ended)

    def _go_on(self, stream: Stream) -> None:
        for place in stream.take():
            self._pool.submit(self._translate, stream, place)

    def _translate(self, stream: Stream, place: int) -> None:
        stream.translate(place, self._ask)
        self._go_on(stream)
