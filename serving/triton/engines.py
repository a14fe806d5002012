"""The engines that `translator` can run on: the parameter `engine` of its config.pbtxt."""

from __future__ import annotations

from collections.abc import Mapping

from serving.bundle import Bundle
from serving.engine import Engine
from serving.triton.interface import Triton
from serving.triton.native_engine import DECODER_STEP, ENCODER, NativeEngine
from serving.triton.settings import DECODER_STEP_MODEL, ENCODER_MODEL, ENGINE, one_of

ONNXRUNTIME, NATIVE = "onnxruntime", "native"


def chosen_engine(
    triton: Triton, bundle: Bundle, settings: Mapping[str, str], threads: int, workers: int
) -> Engine:
    """The engine that the settings name; ONNX Runtime in this process if they name none.

    Args:
        triton: the module `triton_python_backend_utils`.
        bundle: the model.
        settings: of the model `translator`.
        threads: of ONNX Runtime in this process; 0 is one a core.
        workers: decoders side by side.

    Raises:
        ConfigError: there is no engine of that name, or it cannot load the model.
    """
    if one_of(settings, ENGINE, (ONNXRUNTIME, NATIVE)) == ONNXRUNTIME:
        return bundle.engine(threads, workers)
    encoder = settings.get(ENCODER_MODEL, ENCODER)
    decoder_step = settings.get(DECODER_STEP_MODEL, DECODER_STEP)
    return NativeEngine(triton, bundle.spec, encoder, decoder_step)
