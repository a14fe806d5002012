"""The engines that `translator` can run on: the parameter `engine` of its config.pbtxt."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from serving.bundle import Bundle
from serving.engine import Engine, default_workers
from serving.engines.gpu.opening import tensorrt_engine
from serving.errors import ConfigError, DragomanError
from serving.triton.interface import Triton
from serving.triton.native_engine import DECODER_STEP, ENCODER, NativeEngine
from serving.triton.settings import (
    DECODER_STEP_MODEL,
    ENCODER_MODEL,
    ENGINE,
    FALLBACK,
    PLANS,
    SHARE,
    THREADS,
    WORKERS,
    one_of,
    positive_setting,
)

ONNXRUNTIME, TENSORRT, NATIVE = "onnxruntime", "tensorrt", "native"
NONE = "none"

log = logging.getLogger(__name__)


CPU_SHARE = 20
"""Rows of one request beside small ones: a step's time on CPUs is that of its rows, and one of
that many takes about twice as long as that of a sentence alone."""


class Chosen(NamedTuple):
    """An engine, and what suits it.

    Attributes:
        engine: translates.
        workers: how many decoders of it work side by side.
        share: rows that one request may hold beside small ones; None where rows cost no time.
    """

    engine: Engine
    workers: int
    share: int | None


def chosen_engine(triton: Triton, bundle: Bundle, settings: Mapping[str, str], gpu: int) -> Chosen:
    """The engine that the settings name; ONNX Runtime in this process if they name none.

    Args:
        triton: the module `triton_python_backend_utils`.
        bundle: the model.
        settings: of the model `translator`.
        gpu: which GPU TensorRT uses, from 0.

    Raises:
        ConfigError: there is no engine of that name.
        DragomanError: it cannot load the model, and nothing is said of another engine.
    """
    name = one_of(settings, ENGINE, (ONNXRUNTIME, TENSORRT, NATIVE))
    fallback = one_of(settings, FALLBACK, (NONE, ONNXRUNTIME))
    if name == TENSORRT:
        try:
            return _tensorrt(bundle, settings, gpu)
        except DragomanError as error:
            if fallback == NONE:
                raise
            log.warning("TensorRT is not used, ONNX Runtime is: %s", error)
    threads = positive_setting(settings, THREADS, default=0)
    workers = positive_setting(settings, WORKERS, default=default_workers(threads))
    share = positive_setting(settings, SHARE, default=CPU_SHARE)
    if name == NATIVE:
        encoder = settings.get(ENCODER_MODEL, ENCODER)
        decoder_step = settings.get(DECODER_STEP_MODEL, DECODER_STEP)
        engine = NativeEngine(triton, bundle.spec, encoder, decoder_step)
        return Chosen(engine, workers, share)
    return Chosen(bundle.engine(threads, workers), workers, share)


def _tensorrt(bundle: Bundle, settings: Mapping[str, str], gpu: int) -> Chosen:
    """One decoder: it has the whole GPU, and the boards are its own."""
    if positive_setting(settings, WORKERS, default=1) != 1:
        raise ConfigError(f"{WORKERS} must be 1 with TensorRT; give each GPU an instance instead")
    plans = settings.get(PLANS)
    return Chosen(tensorrt_engine(bundle, Path(plans) if plans else None, gpu), 1, None)
