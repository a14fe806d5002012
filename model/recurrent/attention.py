"""Additive attention (Bahdanau et al. 2015, appendix A.1.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from model.attention import MASKED


class AdditiveAttention(nn.Module):
    """A network with one hidden layer scores each annotation: v tanh(W s + U h).

    U h does not depend on the decoder's state s, so it is computed once a sentence.
    """

    def __init__(self, state_width: int, memory_width: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(state_width, width)
        self.key = nn.Linear(memory_width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)

    def project_memory(self, memory: Tensor) -> Tensor:
        """U h of all annotations: (B, S, 2D) -> (B, S, D)."""
        keys: Tensor = self.key(memory)
        return keys

    def weights(self, state: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """How much each state takes of each annotation.

        Args:
            state: (B, K, D), K decoder states a sentence.
            keys: (B, S, D) from `project_memory`.
            mask: bool (B, 1, S), True where there is a word.

        Returns:
            (B, K, S), rows that sum to 1.
        """
        query = self.query(state)[:, :, None]  # (B, K, 1, D)
        scores = self.score(torch.tanh(query + keys[:, None]))[..., 0]  # (B, K, S)
        return torch.softmax(scores.masked_fill(~mask, MASKED), dim=-1)

    def forward(self, state: Tensor, keys: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """The expected annotation of each state: (B, K, D) -> (B, K, 2D)."""
        return self.weights(state, keys, mask) @ memory
