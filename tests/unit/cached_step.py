"""What every engine of PyTorch must keep to."""

from __future__ import annotations

import numpy as np
import torch

from model.translation_model import TranslationModel
from serving.engine import Demand, Engine, Rows, pad


def assert_cached_step_equals_parallel_pass(
    model: TranslationModel, engine: Engine, seed: int
) -> None:
    """Random targets, reordered at random at every step as beam search would."""
    random = np.random.default_rng(seed)
    sentences = [[*random.integers(3, 40, random.integers(1, 9)).tolist(), 2] for _ in range(3)]
    source, lengths = pad(sentences, 0)
    decoder, beams = engine.decoder(), 2
    decoder.join(source, [Demand(int(n), 2, 7) for n in lengths])
    rows = len(sentences) * beams
    sentence_of = np.arange(rows) // beams
    prefixes = np.full((rows, 1), 1)
    parent = np.zeros(rows, dtype=np.int64)
    for step in range(7):
        position = np.full(rows, step)
        found = decoder.step(Rows(sentence_of, prefixes[:, -1].copy(), position, parent))
        with torch.inference_mode():
            hidden = model(
                torch.from_numpy(source[sentence_of]),
                torch.from_numpy(lengths[sentence_of]),
                torch.from_numpy(prefixes),
            )
            logits = model.embedding.project(hidden[:, -1])
            expected = torch.log_softmax(logits, dim=-1).numpy()
        picked = np.take_along_axis(expected, found.token, axis=1)
        np.testing.assert_allclose(found.log_prob, picked, atol=1e-4)
        best = -np.sort(-expected, axis=1)[:, : found.log_prob.shape[1]]
        np.testing.assert_allclose(found.log_prob, best, atol=1e-4)
        parent = sentence_of * beams + random.integers(0, beams, rows)
        prefixes = np.column_stack((prefixes[parent], random.integers(3, 40, rows)))
