"""The attention of one sentence pair, ready to be drawn."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from model.pictures.labels import Labels
from model.pictures.recording import Kind, Recorder, recording
from model.transformer import Transformer

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class AttentionMaps:
    """One kind of attention in every layer and head.

    Attributes:
        kind: whose attention.
        weights: (L, H, T, S) float32, rows that sum to 1.
        visible: bool, (T, S); True where the query may look.
        rows: labels of the queries, T.
        columns: labels of the keys, S.
    """

    kind: Kind
    weights: Array
    visible: Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def attention_maps(
    transformer: Transformer, source: Sequence[int], written: Sequence[int], labels: Labels
) -> list[AttentionMaps]:
    """Record the parallel pass over one sentence pair.

    A decoder's row is named after the token that it writes. The target is shifted right, so
    what that row has read last is the token before, and BOS in the first row.

    Args:
        transformer: in evaluation mode.
        source: ids, closed by EOS.
        written: ids of the target, closed by EOS unless the search was cut off.
        labels: names of ids.

    Returns:
        The maps of each kind, in the order of `Kind`.
    """
    read = [transformer.config.bos_id, *written[:-1]]
    device = transformer.embedding.weight.device
    source_ids, target_ids = (torch.tensor([ids], device=device) for ids in (source, read))
    with recording(transformer) as recorders, torch.inference_mode():
        transformer(source_ids, torch.tensor([len(source)], device=device), target_ids)
    axes = {
        Kind.ENCODER: (labels.of(source), labels.of(source)),
        Kind.DECODER: (labels.of(written), labels.of(read)),
        Kind.CROSS: (labels.of(written), labels.of(source)),
    }
    return [_maps(kind, recorders[kind], *axes[kind]) for kind in Kind]


def _maps(
    kind: Kind, layers: list[Recorder], rows: tuple[str, ...], columns: tuple[str, ...]
) -> AttentionMaps:
    weights = torch.stack([layer.weights[0] for layer in layers])  # (L, H, T, S)
    return AttentionMaps(kind, _array(weights), _array(layers[0].visible[0, 0]), rows, columns)


def _array(tensor: Tensor) -> Array:
    array: Array = tensor.cpu().numpy()
    return array
