"""What training, validation and checkpoints know of a model, whatever is inside."""

from __future__ import annotations

import abc

from torch import Tensor, nn

from model.config import ModelConfig
from model.embedding import SharedEmbedding


class TranslationModel(nn.Module, abc.ABC):
    """An encoder-decoder whose source, target and output share one embedding.

    Attributes:
        config: its sizes.
        embedding: its `project` turns hidden states into logits.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = SharedEmbedding(config.vocab_size, config.d_model)

    @abc.abstractmethod
    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """source (B, S), lengths (B,), target shifted right (B, T) -> hidden states (B, T, D)."""
