"""Choose the heads that align a model's words best, without a gold standard."""

from __future__ import annotations

from collections.abc import Sequence

from export.aligner.heads import Heads, candidates
from export.material import Material
from model.cross_attention import cross_attentions
from model.diagonal import silver_links
from model.engine import TorchEngine
from model.transformer import Transformer
from model.word_pairs import Agreement, WordPair, casefolded, links_of
from serving.options import DecodingOptions
from serving.translator import SentenceTranslator

SENTENCES = 200
"""How many pairs heads are chosen on. From 50 on, the choice for the shipped model is the same."""


def choose_heads(
    transformer: Transformer, pairs: Sequence[WordPair], among: Sequence[Heads] | None = None
) -> tuple[Heads, Agreement]:
    """The heads whose links agree best with those of statistics on the same sentences.

    Where there are no pairs, all heads of the last layer but one, as they predict (Garg et al.
    2019, "Jointly Learning to Align and Translate with Transformer Models").

    Args:
        among: what to choose from; all candidates by default.
    """
    config = transformer.config
    among = among or list(candidates(config))
    if not pairs:
        every = Heads(max(config.decoder_layers - 2, 0), tuple(range(config.heads)), False)
        return every if every in among else among[0], Agreement.of([], [])
    silver = silver_links(
        [casefolded(pair.source_words) for pair in pairs],
        [casefolded(pair.target_words) for pair in pairs],
        len(pairs),
        lambda: None,
    )
    found: list[list[set[tuple[int, int]]]] = [[] for _ in among]
    sides = ([p.source for p in pairs], [p.target for p in pairs])
    for pair, weights in zip(pairs, cross_attentions(transformer, *sides), strict=True):
        for heads, links in zip(among, found, strict=True):
            links.append(links_of(pair.between(heads.of(weights))))
    agreements = [Agreement.of(links, silver) for links in found]
    best = min(range(len(among)), key=lambda i: agreements[i].error_rate)
    return among[best], agreements[best]


def word_pairs(material: Material) -> list[WordPair]:
    """The material's sentences with their references, or else with the model's translations."""
    lines = list(material.lines[:SENTENCES])
    translations = list((material.references or [])[:SENTENCES])
    if not translations:
        translator = SentenceTranslator(TorchEngine(material.model), material.text)
        found = translator.translate(lines, DecodingOptions(beam_size=1))
        translations = [hypotheses[0].text for hypotheses in found]
    pairs = (
        WordPair.of(material.text, source, target)
        for source, target in zip(lines, translations, strict=True)
    )
    return [pair for pair in pairs if pair.source and pair.target]
