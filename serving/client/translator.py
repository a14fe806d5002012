"""A server as a translator of a list of texts, as commands use it."""

from __future__ import annotations

from collections.abc import Sequence

from serving.client.client import Client
from serving.client.results import Result
from serving.request_options import Options
from serving.translator import OnDone, Translation

PATIENT_SECONDS = 300.0
"""A request may take long, and one that an overloaded server refuses is sent again so long."""


class ServerTranslator:
    """Asks a running server; see `serving.translator.Translator`."""

    def __init__(self, address: str) -> None:
        """Connect.

        Raises:
            DragomanError: the server cannot be reached or has no model; it says so at once.
        """
        self._client = Client(address, timeout=PATIENT_SECONDS)
        self._client.check()

    def translate(
        self,
        texts: Sequence[str],
        options: Options,
        on_done: OnDone | None = None,
    ) -> list[list[Translation]]:
        """Translate each text; `on_done` is told how many more are done.

        Raises:
            DragomanError: the server cannot be reached or refuses a text; it says why.
        """
        found = self._client.translate_many(texts, options=options, on_done=on_done)
        return [_hypotheses(result) for result in found]


def _hypotheses(result: Result) -> list[Translation]:
    return [Translation(result.translation, result.score), *result.alternatives]
