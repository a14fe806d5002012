"""Triton's `translator` model; what it does is in `serving.triton.translate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import triton_python_backend_utils as pb_utils

from serving.bundle import Bundle
from serving.scheduler import DEFAULT_ROWS, DEFAULT_TOKENS, Scheduler
from serving.triton.aligning import Aligning
from serving.triton.engines import chosen_engine
from serving.triton.service import Limits, TranslatorService
from serving.triton.settings import (
    BUNDLE,
    DECODER_STEP_MODEL,
    ENCODER_MODEL,
    OF_ENVIRONMENT,
    ROWS,
    TOKENS,
    bundle_path,
    instance_gpu,
    model_settings,
    positive_setting,
)

KNOWN = (BUNDLE, ENCODER_MODEL, DECODER_STEP_MODEL, *OF_ENVIRONMENT)


class TritonPythonModel:
    """Ids -> ids of the best hypotheses; answers many requests at a time."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Load the engine of the bundle and start its scheduler."""
        settings = model_settings(args, known=KNOWN)
        bundle = Bundle.open(bundle_path(args, settings))
        engine, workers, share = chosen_engine(pb_utils, bundle, settings, instance_gpu(args))
        rows = positive_setting(settings, ROWS, default=DEFAULT_ROWS)
        tokens = positive_setting(settings, TOKENS, default=DEFAULT_TOKENS)
        limits = Limits.of(settings)
        symbols = frozenset(bundle.text_processor().symbol_ids)
        scheduler = Scheduler(engine, rows, tokens, workers, limits.queue, symbols, share)
        aligning = Aligning(bundle.aligner)
        self._service = TranslatorService(
            pb_utils, scheduler, aligning, bundle.spec.vocab_size, limits, args["model_name"]
        )

    def execute(self, requests: list[Any]) -> None:
        """Queue each request; the scheduler's thread answers it later."""
        for request in requests:
            self._service.enqueue(request)

    def finalize(self) -> None:
        """Finish what was accepted, then stop."""
        self._service.close()
