"""The encoder on packed tokens: those of all sentences one after another, without padding."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from export.cpu import operators
from export.cpu.precision import Precision
from model.attention import MASKED, MultiHeadAttention
from model.layers import EncoderLayer
from model.masks import encoder_mask
from model.transformer import Transformer


class PackedEncoder(nn.Module):
    """Source tokens (M,) to every decoder layer's cross-attention keys and values.

    Linear layers see the tokens alone; attention sees a grid (B, S) of them.
    """

    def __init__(self, transformer: Transformer, precision: Precision) -> None:
        super().__init__()
        self.transformer = transformer
        layers = [cast(EncoderLayer, layer) for layer in transformer.encoder]
        self.qkv, self.output, self.feed_forward = (nn.ModuleList() for _ in range(3))
        for index, layer in enumerate(layers):
            name = f"encoder.{index}"
            attention = layer.self_attention
            joined = [attention.query, attention.key, attention.value]
            self.qkv.append(precision.linear(joined, f"{name}.self_attention.query"))
            self.output.append(
                precision.linear([attention.output], f"{name}.self_attention.output")
            )
            self.feed_forward.append(
                precision.feed_forward(layer.feed_forward, f"{name}.feed_forward")
            )
        crosses = [layer.cross_attention for layer in transformer.decoder_layers]
        joined = [linear for cross in crosses for linear in (cross.key, cross.value)]
        self.cross = precision.linear(joined, "decoder.0.cross_attention.key")

    def forward(
        self, source: Tensor, position: Tensor, grid: Tensor, cell: Tensor, lengths: Tensor
    ) -> tuple[Tensor, ...]:
        """Encode M tokens of B sentences.

        Args:
            source: (M,) ids.
            position: (M,) each one's position in its sentence.
            grid: (B, S) which token stands where; any token beyond a sentence's end.
            cell: (M,) where in the grid, counted row by row, each token stands.
            lengths: (B,) int32.

        Returns:
            key, value, key, value, ... each (B, H, S, D/H).
        """
        model = self.transformer
        x = model.embed(source, position)  # (M, D)
        seen = _Seen(self._bias(grid, lengths), grid, cell, lengths)
        for index, layer in enumerate(model.encoder):
            x = self._layer(cast(EncoderLayer, layer), index, x, seen)
        projected = self.cross(model.encoder_norm(x)).chunk(2 * len(model.decoder_layers), dim=-1)
        return tuple(_heads(tensor, grid, model.config.heads) for tensor in projected)

    def _bias(self, grid: Tensor, lengths: Tensor) -> Tensor | None:
        config = self.transformer.config
        if config.encoder_attention == "full":
            return None
        pattern, span = config.encoder_attention, config.attention_span
        mask = encoder_mask(pattern, span, lengths.long(), grid.shape[1])
        return torch.where(mask, 0.0, MASKED)

    def _layer(self, layer: EncoderLayer, index: int, x: Tensor, seen: _Seen) -> Tensor:
        def attend(y: Tensor) -> Tensor:
            context = seen.attend(self.qkv[index](y), layer.self_attention)
            projected: Tensor = self.output[index](context)
            return projected

        return layer.connect(x, attend, self.feed_forward[index])


class _Seen:
    """Who may look at whom, and the way from tokens to the grid and back."""

    def __init__(self, bias: Tensor | None, grid: Tensor, cell: Tensor, lengths: Tensor) -> None:
        self._bias, self._grid, self._cell, self._lengths = bias, grid, cell, lengths

    def attend(self, qkv: Tensor, attention: MultiHeadAttention) -> Tensor:
        """(M, 3D) -> (M, D)."""
        query, key, value = (functional.embedding(self._grid, t) for t in qkv.chunk(3, dim=-1))
        lengths = None if self._bias is not None else self._lengths
        context = operators.multi_head_attention(
            query, key, value, attention.heads, lengths, self._bias
        )
        return context.flatten(0, 1).index_select(0, self._cell)


def _heads(x: Tensor, grid: Tensor, heads: int) -> Tensor:
    """(M, D) -> (B, H, S, D/H)."""
    spread = functional.embedding(grid, x)  # (B, S, D)
    batch, longest, width = spread.shape
    return spread.view(batch, longest, heads, width // heads).transpose(1, 2)
