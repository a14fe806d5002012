"""Which linear layers a graph is made of: FP32 or INT8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
from torch import nn

from export.cpu.linear import Linear, QuantisedFeedForward, QuantisedLinear, Range
from export.cpu.listed import ListedLinear, QuantisedListedLinear
from model.layers import FeedForward


class Precision(Protocol):
    """Makes the linear layers of a graph."""

    def linear(self, layers: Sequence[nn.Linear], name: str) -> nn.Module:
        """Layers of the same input as one; `name` is the first one's place in the model."""
        ...

    def projection(self, weight: torch.Tensor, bias: torch.Tensor | None) -> nn.Module:
        """The output projection (V, D)."""
        ...

    def listed_projection(self, weight: nn.Parameter) -> nn.Module:
        """The output projection (V, D) on some of its columns: x and ids (W,) -> (N, W)."""
        ...

    def feed_forward(self, module: FeedForward, name: str) -> nn.Module:
        """Both layers of a feed-forward sub-layer."""
        ...


PROJECTION = "projection"
"""Where calibration finds what the output projection is given."""


class Fp32:
    """The model's own layers."""

    def linear(self, layers: Sequence[nn.Linear], name: str) -> nn.Module:  # noqa: ARG002
        """Layers of the same input as one."""
        return Linear(*_joined(layers))

    def projection(self, weight: torch.Tensor, bias: torch.Tensor | None) -> nn.Module:
        """The output projection."""
        return Linear(weight, bias)

    def listed_projection(self, weight: nn.Parameter) -> nn.Module:
        """The output projection on some of its columns."""
        return ListedLinear(weight)

    def feed_forward(self, module: FeedForward, name: str) -> nn.Module:  # noqa: ARG002
        """The sub-layer itself."""
        return module


class Int8:
    """INT8 with activation scales from `spans`, a range for each linear layer's input."""

    def __init__(self, spans: Mapping[str, Range]) -> None:
        self._spans = spans

    def linear(self, layers: Sequence[nn.Linear], name: str) -> nn.Module:
        """Layers of the same input as one."""
        return QuantisedLinear(*_joined(layers), self._spans[name])

    def projection(self, weight: torch.Tensor, bias: torch.Tensor | None) -> nn.Module:
        """The output projection."""
        return QuantisedLinear(weight, bias, self._spans[PROJECTION])

    def listed_projection(self, weight: nn.Parameter) -> nn.Module:
        """The output projection on some of its columns."""
        return QuantisedListedLinear(weight, self._spans[PROJECTION])

    def feed_forward(self, module: FeedForward, name: str) -> nn.Module:
        """Both layers, with an integer hidden layer."""
        spans = [self._spans[f"{name}.{layer}"] for layer in ("inner", "outer")]
        return QuantisedFeedForward(module.inner, module.outer, spans)


def _joined(layers: Sequence[nn.Linear]) -> tuple[torch.Tensor, torch.Tensor]:
    weights = torch.cat([layer.weight for layer in layers])
    return weights, torch.cat([layer.bias for layer in layers])
