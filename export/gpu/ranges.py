"""How near to FP16's limits a model comes on real sentences, measured in FP32.

ONNX Runtime computes FP16 graphs in FP32 on CPUs and never overflows there, so a translation that
is right here proves nothing about a GPU. What FP16 must hold is watched where it is made: the
outputs of linear layers and sub-layers, sums before LayerNorm, scores of attention, logits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from export.proof import ProofError
from model.attention import MultiHeadAttention
from model.engine import TorchEngine
from model.transformer import Transformer
from serving.options import DecodingOptions
from serving.search import search

LARGEST_HALF = 65504.0
"""The largest number of FP16."""

HEADROOM = 8.0
"""What is measured on a sample must stay by this factor below it."""


class Largest(NamedTuple):
    """The largest magnitude that FP16 must hold.

    Attributes:
        value: it.
        place: the module that made it.
    """

    value: float
    place: str

    def __str__(self) -> str:
        return f"largest activation {self.value:.4g} ({self.place}), of {LARGEST_HALF:.0f} in FP16"

    def check(self) -> None:
        """Raise ProofError where FP16 might overflow."""
        if not self.value * HEADROOM <= LARGEST_HALF:
            raise ProofError(
                f"FP16 may overflow: {self}; a factor of {HEADROOM:g} is wanted. Serve this "
                "model in FP32: --gpu fp32"
            )


def largest_activation(transformer: Transformer, sentences: Sequence[Sequence[int]]) -> Largest:
    """Translate sentences with PyTorch in FP32 and watch what FP16 would have to hold.

    Args:
        transformer: in evaluation mode.
        sentences: source ids, each closed by EOS.
    """
    watch = _Watch()
    hooks = [transformer.embedding.register_forward_hook(watch.outputs("embedding"))]
    attentions = {}
    for name, module in transformer.named_modules():
        if isinstance(module, nn.Linear):
            hooks.append(module.register_forward_hook(watch.outputs(name)))
        if isinstance(module, nn.LayerNorm):  # its own numbers are FP32, what it is given is not
            hooks.append(module.register_forward_pre_hook(watch.inputs(name)))
        if isinstance(module, MultiHeadAttention):
            attentions[module] = module.attention
            module.attention = watch.scores(name, module.attention)
    project = transformer.decoder_norm.register_forward_hook(watch.logits(transformer))
    try:
        search(TorchEngine(transformer), sentences, DecodingOptions())
    finally:
        for hook in (*hooks, project):
            hook.remove()
        for module, attention in attentions.items():
            module.attention = attention
    return watch.largest


class _Watch:
    """Makes hooks that keep the largest magnitude."""

    def __init__(self) -> None:
        self.largest = Largest(0.0, "nothing")

    def see(self, tensor: Tensor, place: str) -> None:
        value = float(tensor.detach().abs().max()) if tensor.numel() else 0.0
        if not value <= self.largest.value:  # NaN counts
            self.largest = Largest(value, place)

    def outputs(self, place: str) -> Callable[[nn.Module, Any, Tensor], None]:
        return lambda _, __, output: self.see(output, place)

    def inputs(self, place: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        return lambda _, inputs: self.see(inputs[0], f"sum before {place}")

    def logits(self, transformer: Transformer) -> Callable[[nn.Module, Any, Tensor], None]:
        def see(_: nn.Module, __: Any, hidden: Tensor) -> None:
            self.see(hidden, "decoder's output")
            self.see(transformer.embedding.project(hidden), "logits")

        return see

    def scores(self, place: str, attention: Any) -> Any:
        def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
            scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)
            self.see(scores, f"scores of {place}")
            context: Tensor = attention(query, key, value, mask)
            return context

        return attend
