"""Triton's `preprocess` model; what it does is in `serving.triton.preprocess`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import triton_python_backend_utils as pb_utils

from serving.bundle import Bundle
from serving.preparation import Preparation
from serving.text import VOCABULARY
from serving.triton.deferring import Deferring
from serving.triton.preprocess import Preprocessor
from serving.triton.settings import BUNDLE, bundle_path, model_settings


class TritonPythonModel:
    """Texts and options -> ids of sentences, and the documents around them."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Load the vocabulary of the bundle."""
        settings = model_settings(args, known=(BUNDLE,))
        bundle = Bundle.open(bundle_path(args, settings), only=(VOCABULARY,))
        preprocess = Preprocessor(pb_utils, Preparation.of(bundle))
        self._deferring = Deferring(pb_utils, args["model_name"], preprocess, preprocess.is_large)

    def execute(self, requests: list[Any]) -> None:
        """Answer each request, a large one later."""
        self._deferring.execute(requests)

    def finalize(self) -> None:
        """Finish what was accepted."""
        self._deferring.close()
