"""What a run begins with, if not with weights drawn at random."""

from __future__ import annotations

import logging
from pathlib import Path

import torch

from model.checkpoint import fill, load_weights
from model.translation_model import TranslationModel
from serving.text import VOCABULARY, TextProcessor

log = logging.getLogger(__name__)


def begin_with_pieces(model: TranslationModel, folder: Path, text: TextProcessor) -> None:
    """Give a model the weights of a checkpoint that has another vocabulary.

    Pieces of both vocabularies begin with the checkpoint's embeddings, the others as drawn.

    Raises:
        DragomanError: there is no readable checkpoint, or it is of a model of other sizes.
    """
    weights = load_weights(folder)
    theirs = TextProcessor.load(folder / VOCABULARY).piece_ids()
    known = [(here, theirs[piece]) for piece, here in text.piece_ids().items() if piece in theirs]
    log.info("%d of %d pieces are known to %s", len(known), text.vocab_size, folder)
    embedding = model.embedding.weight.detach().clone()
    ours, those = torch.tensor(known).T
    embedding[ours] = weights["embedding.weight"][those].to(embedding)
    fill(model, {**weights, "embedding.weight": embedding}, folder)
