"""Train the shared SentencePiece vocabulary."""

from __future__ import annotations

import dataclasses
import io
import itertools
from collections.abc import Iterable
from pathlib import Path

import sentencepiece

from model.data.corpus import Corpus
from serving.atomic import replacing
from serving.errors import ConfigError
from serving.text import TextProcessor, normalise

TYPES = ("bpe", "unigram", "word")


@dataclasses.dataclass(frozen=True)
class VocabularyConfig:
    """How the vocabulary is learned.

    Attributes:
        size: pieces, V, of source and target together.
        type: SentencePiece algorithm, `bpe` as in the paper or `unigram`; or `word`, which takes
            text that is already split (`pul@@ ley`) at its spaces and knows no other token.
        dropout: probability of leaving out a BPE merge in training (Provilkov et al. 2020).
        placeholders: reserved symbols, [0] to [n-1] in white square brackets, which later
            stand for what must not be translated.
        required: characters that become pieces however rare they are: a small corpus may lack
            some that every other text has. What is no piece is spelled in bytes.
    """

    size: int = 8000
    type: str = "bpe"
    dropout: float = 0.0
    placeholders: int = 20
    required: str = ""

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            raise ConfigError(f"vocabulary type must be one of {TYPES}, not {self.type!r}")
        if self.dropout and self.type != "bpe":
            raise ConfigError(f"vocabulary dropout needs type 'bpe', not {self.type!r}")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"vocabulary dropout must be in [0, 1), not {self.dropout}")


def placeholder(index: int) -> str:
    """The reserved symbol of that index."""
    return f"\u27e6{index}\u27e7"


def train_vocabulary(corpus: Corpus, config: VocabularyConfig, path: Path) -> TextProcessor:
    """Learn pieces from both sides and write the model to `path`, atomically.

    Raises:
        ConfigError: SentencePiece refuses the size for this corpus; the message says why.
    """
    return learn_pieces(itertools.chain(corpus.source, corpus.target), config, path)


def learn_pieces(lines: Iterable[str], config: VocabularyConfig, path: Path) -> TextProcessor:
    """Learn pieces from lines of text and write the model to `path`, atomically.

    Raises:
        ConfigError: SentencePiece refuses the size for this text; the message says why.
    """
    model = io.BytesIO()
    split = config.type == "word"
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=map(normalise, lines),
            model_writer=model,
            vocab_size=config.size,
            model_type=config.type,
            normalization_rule_name="identity" if split else "nfkc",
            byte_fallback=not split,
            character_coverage=1.0 if split else 0.9999,
            required_chars=normalise(config.required).replace(" ", ""),
            user_defined_symbols=[placeholder(i) for i in range(config.placeholders)],
            pad_id=0,
            bos_id=1,
            eos_id=2,
            unk_id=3,
            num_threads=1,  # more threads make the pieces depend on timing
            minloglevel=1,
        )
    except RuntimeError as error:
        raise ConfigError(f"SentencePiece cannot learn {config.size} pieces: {error}") from error
    with replacing(path) as stream:
        stream.write(model.getvalue())
    return TextProcessor.load(path)
