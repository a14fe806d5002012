"""Triton's `translate_stream` model; what it does is in `serving.triton.stream_service`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import triton_python_backend_utils as pb_utils

from serving.bundle import Bundle
from serving.preparation import Preparation
from serving.text import VOCABULARY
from serving.triton.settings import BUNDLE, TRANSLATOR_MODEL, bundle_path, model_settings
from serving.triton.stream_service import StreamService


class TritonPythonModel:
    """A text and options -> a response for each sentence, as soon as it is done."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Load the vocabulary of the bundle."""
        settings = model_settings(args, known=(BUNDLE, TRANSLATOR_MODEL))
        bundle = Bundle.open(bundle_path(args, settings), only=(VOCABULARY,))
        translator = settings.get(TRANSLATOR_MODEL, "translator")
        prepare = Preparation.of(bundle)
        self._service = StreamService(pb_utils, prepare, translator, args["model_name"])

    def execute(self, requests: list[Any]) -> None:
        """Begin each stream; its responses come from threads."""
        for request in requests:
            self._service.enqueue(request)

    def finalize(self) -> None:
        """Finish what was accepted."""
        self._service.close()
