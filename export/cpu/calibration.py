"""What every linear layer's input spans on real sentences: the scales of INT8 activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from export.cpu.linear import Range
from export.cpu.precision import PROJECTION
from model.engine import TorchEngine
from model.transformer import Transformer
from serving.options import DecodingOptions
from serving.search import search


def calibrate(transformer: Transformer, sentences: Sequence[Sequence[int]]) -> dict[str, Range]:
    """Translate sentences with PyTorch and watch every linear layer's input.

    Args:
        transformer: in evaluation mode.
        sentences: source ids, each closed by EOS.

    Returns:
        The smallest and largest input of each linear layer, by its name in the model, and of the
        output projection.
    """
    spans: dict[str, Range] = {}

    def watch(name: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        def see(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            low, high = torch.aminmax(inputs[0])
            known = spans.get(name, Range(0.0, 0.0))
            spans[name] = Range(min(known.low, float(low)), max(known.high, float(high)))

        return see

    def see_hidden(_: nn.Module, __: Any, output: Tensor) -> None:
        watch(PROJECTION)(transformer, (output,))

    watched = [
        module.register_forward_pre_hook(watch(name))
        for name, module in transformer.named_modules()
        if isinstance(module, nn.Linear)
    ]
    watched.append(transformer.decoder_norm.register_forward_hook(see_hidden))
    try:
        search(TorchEngine(transformer), sentences, DecodingOptions())
    finally:
        for hook in watched:
            hook.remove()
    return spans
