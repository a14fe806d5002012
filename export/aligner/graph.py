"""`aligner.onnx`: one parallel pass over a given translation, up to the heads that align."""

from __future__ import annotations

import onnx
import torch
from torch import Tensor, nn
from torch.export import Dim

from export.aligner.heads import Heads
from export.trace import trace
from model.attention import attention_weights
from model.layers import DecoderLayer
from model.masks import look_ahead_mask, padding_mask
from model.transformer import Transformer
from serving.engines.names import cross_names

HEADS = "heads"
"""Key of the graph's metadata that says where its attention comes from."""


class AlignerGraph(nn.Module):
    """Attention of the chosen heads over a translation that is there already.

    It needs the decoder up to the chosen layer's queries and no output projection. The embedding,
    most of the file, is kept in FP16; what is looked up becomes FP32.
    """

    embedding: Tensor

    def __init__(self, transformer: Transformer, heads: Heads) -> None:
        super().__init__()
        self.start_id = transformer.config.bos_id
        self.scale = transformer.embedding.scale
        self.positions = transformer.positions
        self.layers = nn.ModuleList(transformer.decoder_layers[: heads.layer + 1])
        self.heads = heads
        self.register_buffer("embedding", transformer.embedding.weight.detach().half())

    def forward(self, target: Tensor, lengths: Tensor, cross: list[Tensor]) -> Tensor:
        """Attention of every target token.

        Args:
            target: (B, T) ids, without the decoder's first input.
            lengths: (B,) int32 source lengths.
            cross: key and value of each layer below the chosen one, then its key, each
                (B, H, S, D/H).

        Returns:
            (B, T, S), rows that sum to 1.
        """
        length = target.shape[1]
        start = torch.full_like(target[:, :1], self.start_id)
        ids = torch.cat((start, target), dim=1)  # (B, T + 1)
        embedded = nn.functional.embedding(ids, self.embedding).float() * self.scale
        x = embedded + self.positions(torch.arange(length + 1, device=target.device))
        self_mask = look_ahead_mask(length + 1, target.device)
        cross_mask = padding_mask(lengths.long(), cross[0].shape[2])
        *below, chosen = (_decoder_layer(layer) for layer in self.layers)
        for index, layer in enumerate(below):
            key, value = cross[2 * index : 2 * index + 2]
            x = _below(layer, x, self_mask, (key, value, cross_mask))
        weights = _weights(chosen, x, self_mask, cross[-1], cross_mask)  # (B, H, T + 1, S)
        rows = weights[:, :, 1:] if self.heads.reading else weights[:, :, :-1]
        return rows[:, list(self.heads.heads)].mean(dim=1)


def _decoder_layer(module: nn.Module) -> DecoderLayer:
    assert isinstance(module, DecoderLayer)
    return module


def _below(
    layer: DecoderLayer, x: Tensor, self_mask: Tensor, memory: tuple[Tensor, Tensor, Tensor]
) -> Tensor:
    """A whole layer, x (B, T + 1, D), over keys, values and their mask."""
    return layer.connect(
        x,
        lambda y: layer.self_attention(y, y, self_mask),
        lambda y: layer.cross_attention.attend(y, *memory),
        layer.feed_forward,
    )


def _weights(
    layer: DecoderLayer, x: Tensor, self_mask: Tensor, key: Tensor, cross_mask: Tensor
) -> Tensor:
    """What the layer's cross-attention looks at; what comes after it is not computed."""
    found: list[Tensor] = []

    def look(y: Tensor) -> Tensor:
        attention = layer.cross_attention
        found.append(attention_weights(attention.split(attention.query(y)), key, cross_mask))
        return y

    layer.connect(x, lambda y: layer.self_attention(y, y, self_mask), look, lambda y: y)
    return found[0]


def aligner_graph(transformer: Transformer, heads: Heads) -> onnx.ModelProto:
    """Trace it; `transformer` must be in evaluation mode.

    Its free axes are B sentences, T target tokens and S source tokens.
    """
    config = transformer.config
    batch, target, source = Dim("B"), Dim("T"), Dim("S")
    names = cross_names(heads.layer + 1)[:-1]
    shape = (2, config.heads, 6, config.d_head)
    model = trace(
        AlignerGraph(transformer, heads),
        {
            "target": torch.tensor([[3, 4, 5, 6], [7, 8, 9, 2]]),
            "lengths": torch.tensor([6, 2], dtype=torch.int32),
            "cross": [torch.randn(shape) for _ in names],
        },
        {
            "target": {0: batch, 1: target},
            "lengths": {0: batch},
            "cross": [{0: batch, 2: source}] * len(names),
        },
        ["target", "lengths", *names],
        ["attention"],
    )
    note = model.metadata_props.add()
    note.key, note.value = HEADS, str(heads)
    return model
