"""The proof that the exported aligner links the words that PyTorch links."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from export.aligner.heads import Heads
from export.proof import ProofError
from model.cross_attention import cross_attentions
from model.transformer import Transformer
from model.word_pairs import WordPair, links_of
from serving.engines.aligner import Aligner

TOLERANCE = 0.01
"""Largest difference of an attention weight where the encoder is in FP32."""

MIN_SAME = 0.9
"""Least share of links that must be PyTorch's, whatever the precision."""


@dataclasses.dataclass(frozen=True)
class AlignerProof:
    """What was compared.

    Attributes:
        largest_difference: of any attention weight.
        links: how many PyTorch finds.
        same: how many of them the graphs find, too.
    """

    largest_difference: float
    links: int
    same: int

    def __str__(self) -> str:
        return (
            f"alignment weights within {self.largest_difference:.1e}, "
            f"{self.same} of {self.links} word links the same"
        )


def prove_aligner(
    transformer: Transformer,
    heads: Heads,
    aligner: Aligner,
    pairs: Sequence[WordPair],
    tolerance: float,
) -> AlignerProof:
    """Compare weights and links of these pairs.

    Raises:
        ProofError: weights differ by more than `tolerance`, or too many links differ.
    """
    sides = ([pair.source for pair in pairs], [pair.target for pair in pairs])
    largest, links, same = 0.0, 0, 0
    expected = cross_attentions(transformer, *sides)
    for pair, weights, found in zip(pairs, expected, aligner.align(*sides), strict=True):
        wanted = heads.of(weights)
        largest = float(np.maximum(largest, np.abs(wanted - found).max()))  # keeps NaN
        ours, theirs = (links_of(pair.between(one)) for one in (wanted, found))
        links, same = links + len(ours), same + len(ours & theirs)
    proof = AlignerProof(largest, links, same)
    if not largest <= tolerance:
        raise ProofError(f"{proof}; at most {tolerance:.0e} is allowed")
    if same < MIN_SAME * links:
        raise ProofError(f"{proof}; at least {MIN_SAME:.0%} is demanded")
    return proof
