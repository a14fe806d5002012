"""ONNX Runtime's operators, as PyTorch's exporter takes them: they mark a graph, no more.

Sources: ONNX's operator specification, and ONNX Runtime's `ContribOperators.md` for the domain
`com.microsoft`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.onnx.ops import symbolic

CONTRIB = "com.microsoft"
UINT8, INT8 = torch.uint8, torch.int8


def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    heads: int,
    lengths: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """Attention of a grid of queries, (B, K, D) -> (B, K, D).

    Args:
        query: (B, K, D).
        key: (B, H, S, D/H), or (B, S, D) before it is split into heads.
        value: as `key`.
        heads: H.
        lengths: (B,) int32, keys that may be seen of each sentence.
        bias: (B or 1, 1, K, S), added to the scores.
    """
    inputs = (query, key, value, None, lengths, bias)
    return _contrib("MultiHeadAttention", inputs, query.shape, num_heads=heads)


def scatter(data: Tensor, index: Tensor, rows: Tensor) -> Tensor:
    """`data` (B, H, L, W) with rows (M, W) written at index (M, 3); in place where bound so."""
    return symbolic("::ScatterND", (data, index, rows), {}, dtype=data.dtype, shape=data.shape)


def quantise(x: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """x (N, D) -> round(x / scale) + zero, cut to 0 ... 255."""
    inputs = (x, scale, zero)
    return symbolic("::QuantizeLinear", inputs, {}, dtype=UINT8, shape=x.shape)


def integer_linear(
    x: Tensor, x_scale: Tensor, x_zero: Tensor, weight: Tensor, scale: Tensor, bias: Tensor | None
) -> Tensor:
    """x uint8 (N, I) times weight int8 (I, O), with a scale for each output -> float (N, O)."""
    inputs = (x, weight, x_scale, scale, x_zero, None, bias)
    return _contrib("MatMulIntegerToFloat", inputs, (x.shape[0], weight.shape[1]))


def integer_linear_relu(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor,
    weight: Tensor,
    scale: Tensor,
    bias: Tensor,
    out_scale: Tensor,
) -> Tensor:
    """The same, quantised again; an output zero point of 0 cuts what is negative, as ReLU does.

    Args:
        bias: int32 (O,), in units of x_scale times `scale`.
        out_scale: the output's.

    Returns:
        uint8 (N, O).
    """
    weight_zero = torch.zeros_like(scale, dtype=INT8)
    out_zero = torch.zeros((), dtype=UINT8)
    inputs = (x, x_scale, x_zero, weight, scale, weight_zero, bias, out_scale, out_zero)
    return _contrib("QGemm", inputs, (x.shape[0], weight.shape[1]), dtype=UINT8)


def _contrib(
    name: str,
    inputs: Sequence[Tensor | None],
    shape: Sequence[int | torch.SymInt],
    dtype: torch.dtype = torch.float32,
    **attributes: int,
) -> Tensor:
    return symbolic(
        f"{CONTRIB}::{name}", inputs, dict(attributes), dtype=dtype, shape=shape, version=1
    )
