"""GPU memory of each shape: what an engine reserves beside its plans, known before it starts."""

from __future__ import annotations

from serving.engine import EngineSpec
from serving.engines.gpu.device import EDIT_ROOM
from serving.engines.gpu.shapes import EncoderShape, Shapes, StepPlan


def token_bytes(spec: EngineSpec, item: int) -> int:
    """Keys and values of one token in all decoder layers.

    Args:
        item: bytes of a number, 2 in FP16, 4 in FP32.
    """
    return 2 * spec.decoder_layers * spec.heads * spec.d_head * item


def encoder_bytes(spec: EngineSpec, shape: EncoderShape, item: int) -> int:
    """What one encoder shape reads and writes: ids, lengths, and keys and values."""
    tokens = shape.sentences * shape.length
    return tokens * token_bytes(spec, item) + 4 * tokens + 4 * shape.sentences


def board_bytes(spec: EngineSpec, plan: StepPlan, item: int) -> int:
    """What one step plan's board takes, whatever number of its sentences is in use."""
    sentences, rows = plan.sentences[-1], plan.sentences[-1] * plan.beams
    kept = sentences * (plan.length + plan.columns) * token_bytes(spec, item)
    edits = 16 * EDIT_ROOM  # id, factor, addend, and what came of them
    crossing = rows * (4 + plan.columns + 8 * spec.candidates + edits) + 16 * sentences
    return kept + crossing


def total_bytes(spec: EngineSpec, shapes: Shapes, item: int) -> int:
    """All shapes together; plans, their weights and their scratch come on top."""
    encoders = sum(encoder_bytes(spec, shape, item) for shape in shapes.encoder)
    return encoders + sum(board_bytes(spec, plan, item) for plan in shapes.step)
