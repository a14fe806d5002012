"""A client that waits for its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Self, Unpack

from serving.client.attempts import Attempts
from serving.client.calls import (
    CHECK_SECONDS,
    DEFAULT_ADDRESS,
    DEFAULT_PATIENCE,
    DEFAULT_TIMEOUT,
    check_ready,
    groups_of,
    options_of,
    ready_request,
)
from serving.client.connection import Connection
from serving.client.flight import Flight
from serving.client.request import MODEL, STREAM_MODEL, infer_request
from serving.client.results import Part, Result, part_of
from serving.errors import DragomanError
from serving.request_options import Options, OptionValues


class Client:
    """Asks a running server for translations, over gRPC; one client serves any number of threads.

    with Client("localhost:8001") as client:
        print(client.translate("Good morning.", beam_size=8).translation)
    """

    def __init__(
        self,
        address: str = DEFAULT_ADDRESS,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        patience: float = DEFAULT_PATIENCE,
        model: str = MODEL,
        stream_model: str = STREAM_MODEL,
    ) -> None:
        """Connect lazily.

        Args:
            address: host:port of the gRPC endpoint.
            timeout: seconds that a request may take, attempts at an overloaded server included.
            patience: of them, the seconds for which a server that is away is asked again.
            model: what translates.
            stream_model: what `stream` asks.
        """
        self._timeout, self._patience = timeout, patience
        self._model, self._stream_model = model, stream_model
        self._connection = Connection(address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End what is under way, in every thread, with a ClosedError."""
        self._connection.close()

    def check(self) -> None:
        """Return if the server can be reached and translates.

        Raises:
            UnreachableError: nothing answers at the address.
            NotReadyError: the model is not ready.
        """
        call = self._connection.start("ModelReady", ready_request(self._model), CHECK_SECONDS)
        check_ready(self._connection.address, self._model, self._connection.answer(call))

    def translate(
        self,
        text: str,
        *,
        timeout: float | None = None,
        options: Options | None = None,
        **values: Unpack[OptionValues],
    ) -> Result:
        """Translate one text.

        Args:
            text: what to translate.
            timeout: seconds, instead of the client's.
            options: an object, instead of keyword arguments.
            values: see `Options`.

        Raises:
            RequestError: an option or the text is wrong.
            DeadlineError: the time is over.
            OverloadError: the server had too much to do for all that time.
            UnreachableError: nothing answers at the address.
            NotReadyError: the server has no model that is ready.
            ServerError: the server failed.
        """
        chosen = options_of(options, dict(values))
        (result,) = self._flight(chosen, timeout).results(groups_of([text]))
        return result

    def translate_many(
        self,
        texts: Sequence[str],
        *,
        on_done: Callable[[int], object] | None = None,
        timeout: float | None = None,
        options: Options | None = None,
        **values: Unpack[OptionValues],
    ) -> list[Result]:
        """Translate any number of texts, a few in a request and several requests in flight.

        Args:
            texts: what to translate.
            on_done: told how many more are done.
            timeout: seconds of each request, instead of the client's.
            options: an object, instead of keyword arguments.
            values: see `Options`.

        Returns:
            Results in the order of the texts.

        Raises:
            DragomanError: as for `translate`; all other requests are given up.
        """
        chosen = options_of(options, dict(values))
        return self._flight(chosen, timeout).results(groups_of(texts), on_done)

    def stream(
        self,
        text: str,
        *,
        timeout: float | None = None,
        options: Options | None = None,
        **values: Unpack[OptionValues],
    ) -> Iterator[Part]:
        """Translate one text and give each sentence as soon as it is there.

        Sentences come in the order in which they are finished; `Part.index` says where one
        belongs. Closing the iterator, or leaving its loop, frees the server's work.

        Args:
            text: what to translate.
            timeout: seconds, instead of the client's.
            options: an object, instead of keyword arguments.
            values: see `Options`.

        Raises:
            DragomanError: as for `translate`.
        """
        chosen = options_of(options, dict(values))
        groups_of([text])
        return self._parts(text, chosen, self._attempts(timeout))

    def _parts(self, text: str, options: Options, attempts: Attempts) -> Iterator[Part]:
        begun = False
        while True:
            seconds = attempts.left()
            request = infer_request(self._stream_model, [text], options, seconds)
            try:
                for response in self._connection.stream(request, seconds):
                    begun = True
                    yield part_of(response)
                return
            except DragomanError as error:
                if begun:  # what was given cannot be taken back
                    raise
                self._connection.rest(attempts.pause(error))

    def _flight(self, options: Options, timeout: float | None) -> Flight:
        return Flight(self._connection, self._model, options, lambda: self._attempts(timeout))

    def _attempts(self, timeout: float | None) -> Attempts:
        return Attempts(self._timeout if timeout is None else timeout, self._patience)
