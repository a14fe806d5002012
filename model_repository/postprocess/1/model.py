"""Triton's `postprocess` model; what it does is in `serving.triton.postprocess`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import triton_python_backend_utils as pb_utils

from serving.bundle import Bundle
from serving.text import VOCABULARY
from serving.triton.answers import answer_each
from serving.triton.postprocess import Postprocessor
from serving.triton.settings import BUNDLE, bundle_path, model_settings


class TritonPythonModel:
    """Ids of hypotheses -> texts."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Load the vocabulary of the bundle."""
        settings = model_settings(args, known=(BUNDLE,))
        bundle = Bundle.open(bundle_path(args, settings), only=(VOCABULARY,))
        self._postprocess = Postprocessor(pb_utils, bundle.text_processor(), bundle.spec.vocab_size)

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer each request."""
        return answer_each(pb_utils, requests, self._postprocess)
