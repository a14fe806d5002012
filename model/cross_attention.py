"""What every head of every decoder layer looks at while a given translation is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from model.pictures.recording import Kind, recording
from model.transformer import Transformer
from serving.engine import pad

_GROUP = 32


def cross_attentions(
    transformer: Transformer,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
) -> Iterator[NDArray[np.float32]]:
    """Teacher-force translations; sentences come in the order given.

    Args:
        sources: ids, none empty.
        targets: ids of their translations; the decoder's first input is put before them.

    Yields:
        (L, H, T + 1, S) for each sentence: row t predicts target token t and has read those
        before it, the last of them by being its input.
    """
    config = transformer.config
    device = transformer.embedding.weight.device
    for place in range(0, len(sources), _GROUP):
        source, lengths = pad(sources[place : place + _GROUP], config.pad_id)
        inputs = [[config.bos_id, *ids] for ids in targets[place : place + _GROUP]]
        target, target_lengths = pad(inputs, config.pad_id)
        with torch.inference_mode(), recording(transformer) as recorders:
            transformer(*(torch.from_numpy(a).to(device) for a in (source, lengths, target)))
            layers = [recorder.weights.cpu().numpy() for recorder in recorders[Kind.CROSS]]
        weights = np.stack(layers, axis=1)  # (B, L, H, T + 1, S)
        for one, columns, rows in zip(weights, lengths, target_lengths, strict=True):
            yield one[:, :, :rows, :columns]
