"""A corpus as token ids, sampled anew each epoch where BPE-dropout is on."""

from __future__ import annotations

from model.data.batches import Pairs
from model.data.bpe_dropout import BpeDropout
from model.data.corpus import Corpus
from serving.text import TextProcessor


def tokenise(corpus: Corpus, text: TextProcessor) -> Pairs:
    """The one best segmentation of every sentence."""
    return Pairs.of(list(map(text.encode, corpus.source)), list(map(text.encode, corpus.target)))


def sample(corpus: Corpus, text: TextProcessor, dropout: float, seed: int) -> Pairs:
    """Segmentations with merges dropped at random; the same for the same seed."""
    segmenter = BpeDropout(text, dropout, seed)
    return Pairs.of(segmenter.encode(corpus.source), segmenter.encode(corpus.target))
