"""One decoding step on rows, with a tree of columns for a cache (see `serving.engines.columns`)."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from export.cpu import operators
from export.cpu.listed import best_of_lists
from export.cpu.precision import Precision
from export.cpu.selection import best_in_groups, in_whole_groups
from model.layers import DecoderLayer
from model.step import StepEdits
from model.transformer import Transformer


class Places(NamedTuple):
    """Where rows stand in the grid of attention, and what they may see.

    Attributes:
        grid: (B, K) which row stands where; any row in cells that are not used.
        cell: (N,) where in the grid, counted sentence by sentence, each row stands.
        write: (N x H, 3) sentence, head and column of each row's new key and value.
        bias: (B, 1, K, L) added to the scores of self-attention.
        lengths: (B,) int32 source lengths.
    """

    grid: Tensor
    cell: Tensor
    write: Tensor
    bias: Tensor
    lengths: Tensor


class RowStep(nn.Module):
    """One token for every row. Linear layers see the N rows alone, attention sees the grid."""

    def __init__(
        self, transformer: Transformer, precision: Precision, candidates: int, listed: bool = False
    ) -> None:
        """Build the step.

        Args:
            precision: of its linear layers.
            candidates: C.
            listed: whether it chooses from shortlists.
        """
        super().__init__()
        self.transformer = transformer
        bias = None
        if not listed:
            self.transformer, bias = in_whole_groups(transformer)
        self.candidates = min(candidates, transformer.config.vocab_size)
        self.qkv, self.output, self.query, self.cross_output, self.feed_forward = (
            nn.ModuleList() for _ in range(5)
        )
        for index, layer in enumerate(transformer.decoder_layers):
            name = f"decoder.{index}"
            own, cross = layer.self_attention, layer.cross_attention
            joined = [own.query, own.key, own.value]
            self.qkv.append(precision.linear(joined, f"{name}.self_attention.query"))
            self.output.append(precision.linear([own.output], f"{name}.self_attention.output"))
            self.query.append(precision.linear([cross.query], f"{name}.cross_attention.query"))
            self.cross_output.append(
                precision.linear([cross.output], f"{name}.cross_attention.output")
            )
            self.feed_forward.append(
                precision.feed_forward(layer.feed_forward, f"{name}.feed_forward")
            )
        weight = self.transformer.embedding.weight
        if listed:
            self.projection = precision.listed_projection(weight)
        else:
            self.projection = precision.projection(weight, bias)

    def forward(
        self,
        token: Tensor,
        position: Tensor,
        grid: Tensor,
        cell: Tensor,
        write: Tensor,
        bias: Tensor,
        lengths: Tensor,
        edit_id: Tensor,
        edit_factor: Tensor,
        edit_addend: Tensor,
        cross: list[Tensor],
        cache: list[Tensor],
        shortlist: Tensor | None = None,
        own: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
        """Run one step.

        Args:
            token: (N,) newest token of each row.
            position: (N,) its position, from 0.
            grid: see `Places`; so are `cell`, `write`, `bias` and `lengths`.
            cell: as above.
            write: as above.
            bias: as above.
            lengths: as above.
            edit_id: (N, M) tokens whose log-probabilities are edited, or their places in the
                sentence's list; see `serving.engine.Edits`.
            edit_factor: (N, M).
            edit_addend: (N, M).
            cross: key, value of each layer, each (B, H, S, D/H).
            cache: key, value of each layer, each (B, H, L, D/H).
            shortlist: (W,) ids that any sentence may use; see `serving.engines.lists`.
            own: (B, G, M) where in it those of each sentence stand, or -1.

        Returns:
            Log-probabilities (N, C) and ids (N, C), best first, the edited log-probabilities
            (N, M), and the cache with the new columns.
        """
        model = self.transformer
        places = Places(grid, cell, write, bias, lengths)
        x = model.embed(token, position)  # (N, D)
        written: list[Tensor] = []
        for index, layer in enumerate(model.decoder_layers):
            pair = slice(2 * index, 2 * index + 2)
            x, new = self._layer(layer, index, x, places, cross[pair], cache[pair])
            written.extend(new)
        x = model.decoder_norm(x)
        edits = StepEdits(edit_id, edit_factor, edit_addend)
        if shortlist is None or own is None:
            return *best_in_groups(self.projection(x), self.candidates, edits), written
        logits = self.projection(x, shortlist)  # (N, W)
        sentence = cell // grid.shape[1]  # (N,)
        found = best_of_lists(logits, shortlist, own, sentence, self.candidates, edits)
        return *found, written

    def _layer(
        self,
        layer: DecoderLayer,
        index: int,
        x: Tensor,
        places: Places,
        cross: list[Tensor],
        cache: list[Tensor],
    ) -> tuple[Tensor, list[Tensor]]:
        """One decoder layer, x (N, D); also the layer's cache with the new columns."""
        heads = self.transformer.config.heads
        written: list[Tensor] = []

        def self_attend(y: Tensor) -> Tensor:
            query, *new = self.qkv[index](y).chunk(3, dim=-1)
            for past, rows in zip(cache, new, strict=True):
                by_head = rows.reshape(-1, past.shape[-1])  # (N x H, D/H)
                written.append(operators.scatter(past, places.write, by_head))
            spread = functional.embedding(places.grid, query)  # (B, K, D)
            key, value = written
            context = operators.multi_head_attention(spread, key, value, heads, bias=places.bias)
            return self._back(context, places, self.output[index])

        def cross_attend(y: Tensor) -> Tensor:
            spread = functional.embedding(places.grid, self.query[index](y))
            key, value = cross
            context = operators.multi_head_attention(spread, key, value, heads, places.lengths)
            return self._back(context, places, self.cross_output[index])

        x = layer.connect(x, self_attend, cross_attend, self.feed_forward[index])
        return x, written

    @staticmethod
    def _back(context: Tensor, places: Places, output: nn.Module) -> Tensor:
        """The grid (B, K, D) -> rows (N, D), projected."""
        projected: Tensor = output(context.flatten(0, 1).index_select(0, places.cell))
        return projected
