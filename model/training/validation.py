"""Validation during training: likelihood, and BLEU by beam search."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch

from model.architectures import torch_engine
from model.data.batches import Pairs, collate, epoch_order
from model.data.corpus import Corpus
from model.evaluation import Scores, score
from model.training.config import ValidationConfig
from model.training.learner import Objective
from model.translation_model import TranslationModel
from serving.options import DecodingOptions
from serving.search import search
from serving.text import TextProcessor


@dataclasses.dataclass(frozen=True)
class Validation:
    """How good a model is on the validation set."""

    perplexity: float
    scores: Scores
    sample: tuple[str, str, str]
    """A source, its translation, its reference."""

    def __str__(self) -> str:
        return (
            f"perplexity {self.perplexity:.2f}, BLEU {self.scores.bleu:.2f}, "
            f"chrF {self.scores.chrf:.2f}"
        )


def validate(
    model: TranslationModel,
    corpus: Corpus,
    pairs: Pairs,
    text: TextProcessor,
    config: ValidationConfig,
) -> Validation:
    """Score the first sentences of the set; leaves the model in training mode as it was."""
    was_training = model.training
    model.eval()
    try:
        found_perplexity = perplexity(model, pairs)
        engine = torch_engine(model)
        options = DecodingOptions(config.beam_size, config.length_penalty)
        count = min(config.sentences, len(pairs))
        sources = [pairs.source[i].tolist() for i in range(count)]
        found = [best[0] for best in search(engine, sources, options)]
    finally:
        model.train(was_training)
    translations = [text.decode(hypothesis.ids) for hypothesis in found]
    references = corpus.target[:count]
    scores = score(translations, references, config.tokenize, config.remove_bpe)
    middle = count // 2
    sample = (corpus.source[middle], translations[middle], corpus.target[middle])
    return Validation(found_perplexity, scores, sample)


def perplexity(model: TranslationModel, pairs: Pairs) -> float:
    """exp of the negative log-likelihood per target token; the model is in evaluation mode."""
    total, tokens = 0.0, 0
    config, device = model.config, model.embedding.weight.device
    objective = Objective(model, smoothing=0.0, precision="fp32")
    with torch.inference_mode():
        for indices in epoch_order(pairs, np.arange(len(pairs)), 4096, seed=0, epoch=0):
            batch = collate(pairs, indices, config.pad_id, config.bos_id).to(device)
            total += objective(batch)[1].item()
            tokens += batch.tokens
    return math.exp(total / tokens)
