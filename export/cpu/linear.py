"""Linear layers of the CPU graphs, in FP32 or INT8.

INT8 is uint8 activations with one calibrated scale a layer, so that a row's result depends on no
other row, times int8 weights with a scale for each output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from export.cpu import operators

WEIGHT_LIMIT = 64
"""Weights take 7 bits: AVX2 adds pairs of products in 16 bits, and 2 x 255 x 64 just fits."""


class Range(NamedTuple):
    """What a layer's input spans on real sentences."""

    low: float
    high: float


class Linear(nn.Module):
    """One or several linear layers of the same input, side by side, in FP32."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        shared = isinstance(weight, nn.Parameter)  # as with the embedding: it stays one tensor
        self.weight = weight if shared else nn.Parameter(weight.detach(), requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias.detach(), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        """(N, I) -> (N, O)."""
        return functional.linear(x, self.weight, self.bias)


class QuantisedInput(nn.Module):
    """Turns activations into uint8."""

    scale: Tensor
    zero: Tensor

    def __init__(self, span: Range) -> None:
        super().__init__()
        low, high = min(span.low, 0.0), max(span.high, 0.0)  # 0 must be a number of its own
        scale = max(high - low, 1e-6) / 255
        self.register_buffer("scale", torch.tensor(scale))
        self.register_buffer("zero", torch.tensor(round(-low / scale), dtype=torch.uint8))

    def forward(self, x: Tensor) -> Tensor:
        """(N, I) -> uint8 (N, I)."""
        return operators.quantise(x, self.scale, self.zero)


class QuantisedWeight(nn.Module):
    """int8 weights (I, O) and their scales (O,)."""

    weight: Tensor
    scale: Tensor

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        scale = (weight.detach().abs().amax(dim=1) / WEIGHT_LIMIT).clamp(min=1e-12)
        rounded = (weight.detach() / scale[:, None]).round().to(torch.int8)
        self.register_buffer("weight", rounded.T.contiguous())
        self.register_buffer("scale", scale)


class QuantisedLinear(nn.Module):
    """The same as `Linear` in INT8."""

    def __init__(self, weight: Tensor, bias: Tensor | None, span: Range) -> None:
        super().__init__()
        self.input = QuantisedInput(span)
        self.quantised = QuantisedWeight(weight)
        self.bias = None if bias is None else nn.Parameter(bias.detach(), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        """(N, I) -> (N, O)."""
        source, weight = self.input, self.quantised
        return operators.integer_linear(
            source(x), source.scale, source.zero, weight.weight, weight.scale, self.bias
        )


class QuantisedFeedForward(nn.Module):
    """Both feed-forward layers in INT8; what lies between them is never a float."""

    inner_bias: Tensor
    hidden_scale: Tensor
    hidden_zero: Tensor

    def __init__(self, inner: nn.Linear, outer: nn.Linear, spans: Sequence[Range]) -> None:
        super().__init__()
        source, hidden = spans
        self.input = QuantisedInput(source)
        self.inner = QuantisedWeight(inner.weight)
        self.outer = QuantisedWeight(outer.weight)
        unit = self.input.scale * self.inner.scale
        self.register_buffer("inner_bias", (inner.bias.detach() / unit).round().to(torch.int32))
        self.register_buffer("hidden_scale", torch.tensor(max(hidden.high, 1e-6) / 255))
        self.register_buffer("hidden_zero", torch.tensor(0, dtype=torch.uint8))
        self.outer_bias = nn.Parameter(outer.bias.detach(), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        """(N, D) -> (N, D)."""
        source, inner, outer = self.input, self.inner, self.outer
        hidden = operators.integer_linear_relu(
            source(x),
            source.scale,
            source.zero,
            inner.weight,
            inner.scale,
            self.inner_bias,
            self.hidden_scale,
        )
        return operators.integer_linear(
            hidden, self.hidden_scale, self.hidden_zero, outer.weight, outer.scale, self.outer_bias
        )
