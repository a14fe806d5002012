"""Triton's `preprocess` model; what it does is in `serving.triton.preprocess`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import triton_python_backend_utils as pb_utils

from serving.bundle import Bundle
from serving.text import VOCABULARY
from serving.triton.answers import answer_each
from serving.triton.preprocess import Preprocessor
from serving.triton.settings import BUNDLE, bundle_path, model_settings


class TritonPythonModel:
    """Texts and options -> flat ids and resolved options."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Load the vocabulary of the bundle."""
        settings = model_settings(args, known=(BUNDLE,))
        bundle = Bundle.open(bundle_path(args, settings), only=(VOCABULARY,))
        self._preprocess = Preprocessor(pb_utils, bundle.text_processor())

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer each request."""
        return answer_each(pb_utils, requests, self._preprocess)
