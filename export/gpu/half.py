"""A model in FP16, with islands of FP32 where FP16 would lose what matters.

Weights and matrix products are FP16. FP32 are LayerNorm (a mean of squares overflows early),
softmax, positions (an angle of 1,000 radians has no digits left in FP16) and, in the step, the
logits that are normalised and ranked. Precision is a property of the graph: TensorRT builds
strongly typed networks and changes no type by itself.
"""

from __future__ import annotations

import copy
import math

import torch
from torch import Tensor, nn

from model.attention import MASKED, MultiHeadAttention
from model.transformer import Transformer


class Island(nn.Module):
    """A module in FP32 within a model in FP16."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = copy.deepcopy(module).float()

    def forward(self, x: Tensor) -> Tensor:
        """FP16 or whole numbers in, FP16 out."""
        computed: Tensor = self.module(x.float() if x.is_floating_point() else x)
        return computed.half()


def half_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """As `scaled_dot_product_attention`, in FP16 with softmax in FP32.

    The query is scaled before the product, not the scores after it: a score of 64 products is
    smaller by the same factor, and far from the largest number of FP16, 65,504.
    """
    scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)
    weights = torch.softmax(scores.float().masked_fill(~mask, MASKED), dim=-1)
    return weights.half() @ value


def half(transformer: Transformer) -> Transformer:
    """A copy of the model in FP16 with FP32 islands, for graphs only."""
    model = copy.deepcopy(transformer).half()
    originals = dict(transformer.named_modules())
    for name, module in list(model.named_modules()):
        if isinstance(module, MultiHeadAttention):
            module.attention = half_attention
        if isinstance(module, nn.LayerNorm) or module is model.positions:
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, Island(originals[name]))
    return model.eval()
