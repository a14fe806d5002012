"""Translations of sentences put together again, with what a request wants to know of them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from serving.alignment import Link, Pieces, word_links
from serving.batch import Hypothesis
from serving.confidence import Confidence, word_scores
from serving.documents.document import Document, Translated
from serving.documents.segment import Segment
from serving.text import TextProcessor


@dataclasses.dataclass(frozen=True)
class Answer:
    """A translated text.

    Attributes:
        translations: best first.
        scores: of each, the mean of its sentences' scores; 0 for a text without any.
        details: what else there is to say.
    """

    translations: list[str]
    scores: list[float]
    details: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Sentence:
    """What the search made of one segment of a document.

    Attributes:
        hypotheses: best first.
        attention: of the best to its source, (T, S); None where it was not asked for.
    """

    hypotheses: Sequence[Hypothesis]
    attention: NDArray[Any] | None = None


def assemble(
    document: Document,
    sentences: Sequence[Sentence],
    codec: TextProcessor,
    n_best: int,
    wanted: Collection[str],
    confidence: Confidence | None = None,
) -> Answer:
    """Put a document together, `n_best` times: each with the sentences of one rank.

    Args:
        document: what `prepare` made of the text.
        sentences: one a segment.
        codec: the vocabulary.
        n_best: translations.
        wanted: details, of `serving.options.DETAILS`.
        confidence: what `dragoman calibrate` learned of the model.
    """
    ranks = [_translated(document, sentences, codec, rank) for rank in range(n_best)]
    outputs = [list(map(document.output, document.parts, translations)) for translations in ranks]
    scores = [_mean([s.hypotheses[rank].score for s in sentences]) for rank in range(n_best)]
    details: dict[str, Any] = {"cuts": document.cuts} if document.cuts else {}
    if set(wanted) - {"timings"}:
        spans = _spans(document.between, outputs[0])
        told = zip(document.parts, sentences, ranks[0], spans, strict=True)
        details["sentences"] = [_told(*one, codec, wanted, confidence) for one in told]
    texts = ["".join(_between(document.between, one)) for one in outputs]
    return Answer(texts, scores, details)


def assemble_all(
    documents: Sequence[Document],
    sentences: Sequence[Sentence],
    codec: TextProcessor,
    n_best: int,
    wanted: Collection[str],
    confidence: Confidence | None = None,
) -> list[Answer]:
    """Put documents together whose sentences lie one after the other; see `assemble`."""
    ends = list(itertools.accumulate(len(document.parts) for document in documents))
    bounds = zip(documents, [0, *ends], ends, strict=False)
    return [
        assemble(document, sentences[start:end], codec, n_best, wanted, confidence)
        for document, start, end in bounds
    ]


def restored(document: Document, place: int, sentence: Sentence, codec: TextProcessor) -> str:
    """One sentence's best translation, as it stands in its document."""
    part = document.parts[place]
    return document.output(part, _of_rank(part.text, sentence, codec, 0))


def _translated(
    document: Document, sentences: Sequence[Sentence], codec: TextProcessor, rank: int
) -> list[Translated]:
    pairs = zip(document.parts, sentences, strict=True)
    return [_of_rank(part.text, sentence, codec, rank) for part, sentence in pairs]


def _between(between: Sequence[str], outputs: Sequence[str]) -> Iterator[str]:
    """Both by turns, beginning and ending with what stands between."""
    for before, output in zip(between, [*outputs, ""], strict=True):
        yield before
        yield output


def _spans(between: Sequence[str], outputs: Sequence[str]) -> list[tuple[int, int]]:
    """The characters of the whole that each output takes."""
    ends = list(itertools.accumulate(map(len, _between(between, outputs))))
    return list(itertools.islice(itertools.pairwise(ends), 0, 2 * len(outputs), 2))


def _of_rank(segment: str, sentence: Sentence, codec: TextProcessor, rank: int) -> Translated:
    ids = sentence.hypotheses[rank].ids
    if rank or sentence.attention is None:
        return Translated(codec.decode(ids), None)
    text, spans = codec.decode_spans(ids)
    _, source_spans = codec.encode_spans(segment)
    source, target = Pieces(segment, source_spans), Pieces(text, spans)
    return Translated(text, word_links(sentence.attention, source, target))


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores) if scores else 0.0


def _told(
    part: Segment,
    sentence: Sentence,
    translation: Translated,
    span: tuple[int, int],
    codec: TextProcessor,
    wanted: Collection[str],
    confidence: Confidence | None,
) -> dict[str, Any]:
    """What is told of a sentence; places are characters of the text and of its translation."""
    best = sentence.hypotheses[0]
    told: dict[str, Any] = {
        "source": [part.start, part.end],
        "translation": list(span),
        "truncated": best.truncated,
    }
    if "scores" in wanted:
        told["score"] = round(best.score, 4)
        sure = confidence.of(best.token_scores) if confidence else None
        told |= {} if sure is None else {"confidence": round(sure, 4)}
    if "token_scores" in wanted:
        told["tokens"] = _tokens(best, codec)
        told["words"] = _words(best, codec)
    if "alignments" in wanted:
        # Links are between these two: what was translated, before anything was put back.
        told["segment"], told["segment_translation"] = part.text, translation.text
        told["alignment"] = list(map(_plain, translation.links or ()))
    return told


def _tokens(hypothesis: Hypothesis, codec: TextProcessor) -> list[list[Any]]:
    """Each piece with its log-probability; the last may be that of the end."""
    pieces = [*codec.pieces_of(hypothesis.ids), "</s>"]
    scores = [round(score, 4) for score in hypothesis.token_scores]
    return [list(pair) for pair in zip(pieces, scores, strict=False)]


def _words(hypothesis: Hypothesis, codec: TextProcessor) -> list[list[Any]]:
    """Each word of the segment's translation with its probability."""
    text, spans = codec.decode_spans(hypothesis.ids)
    found = word_scores(text, spans, hypothesis.token_scores)
    return [[text[one.start : one.end], round(one.probability, 4)] for one in found]


def _plain(link: Link) -> list[int]:
    return [link.source_start, link.source_end, link.target_start, link.target_end]
