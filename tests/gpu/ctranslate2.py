"""CTranslate2 in FP16 on the same GPU with the same weights, where that can be had."""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def ctranslate2_throughput(
    checkpoint: Path | None, sources: Sequence[Sequence[int]], beam_size: int, device: int
) -> dict[str, Any]:
    """Output tokens and sentences a second, all sentences given at once."""
    if checkpoint is None:
        return {"skipped": "no checkpoint of the model was named with --checkpoint"}
    missing = [n for n in ("ctranslate2", "torch") if importlib.util.find_spec(n) is None]
    if missing:
        return {"skipped": f"{' and '.join(missing)} must be installed to convert the model"}
    translator, tokens = _translator(checkpoint, device)
    pieces = [[tokens[i] for i in source] for source in sources]
    options = {"beam_size": beam_size, "length_penalty": 0.6, "max_batch_size": 32}
    translator.translate_batch(pieces[:8], **options)
    start = time.perf_counter()
    found = translator.translate_batch(pieces, **options)
    seconds = time.perf_counter() - start
    count = sum(len(result.hypotheses[0]) + 1 for result in found)
    return {"tokens_per_second": count / seconds, "sentences_per_second": len(pieces) / seconds}


def _translator(checkpoint: Path, device: int) -> tuple[Any, list[str]]:
    import ctranslate2

    from bench.engines.ctranslate2_spec import specification, tokens
    from model.checkpoint import load_transformer

    transformer = load_transformer(checkpoint)
    with tempfile.TemporaryDirectory() as folder:
        specification(transformer, "float16").save(folder)
        place = {"device": "cuda", "device_index": device, "compute_type": "float16"}
        return ctranslate2.Translator(folder, **place), tokens(transformer.config)
