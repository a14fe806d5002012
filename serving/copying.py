"""Reserved symbols that must be in the translation, where the search ended without some of them.

Constraints see to it that a hypothesis ends in EOS only with every symbol of its source. One that
the length limit ended may lack some: then the source is split at its symbols, the parts between
them are translated by themselves, and all is joined in the source's order.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any, NamedTuple, Protocol

import numpy as np

from serving.batch import Hypothesis, Sentence, Translations
from serving.beam import length_penalty
from serving.options import DecodingOptions


class Part(NamedTuple):
    """What stands between two symbols of a source.

    Attributes:
        ids: closed by EOS; empty where there is nothing to translate.
        prefix: tokens that its translation begins with.
        symbols: what follows it.
    """

    ids: tuple[int, ...]
    prefix: tuple[int, ...]
    symbols: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Split:
    """A sentence in parts.

    Attributes:
        begin: what its translation has before the first part.
        parts: in the source's order.
    """

    begin: tuple[int, ...]
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, ids: Sequence[int], prefix: tuple[int, ...], symbols: frozenset[int]) -> Split:
        """Split source ids, closed by EOS, at their symbols.

        A prefix with symbols stands for the source up to the last of them; those before it that
        the prefix lacks follow the next part.
        """
        *tokens, eos = ids
        cut = max((n + 1 for n, token in enumerate(prefix) if token in symbols), default=0)
        begin, rest = prefix[:cut], prefix[cut:]
        done = collections.Counter(token for token in begin if token in symbols)
        last = max((n for n, token in enumerate(tokens) if token in done), default=-1)
        late = collections.Counter(t for t in tokens[: last + 1] if t in symbols) - done
        parts: list[Part] = []
        start = last + 1
        for place in [n for n in range(start, len(tokens)) if tokens[n] in symbols]:
            parts.append(_part(tokens[start:place], eos, (tokens[place],)))
            start = place + 1
        parts.append(_part(tokens[start:], eos, ()))
        first = parts[0]
        source = first.ids or ((eos,) if rest else ())  # a prefix needs something to begin
        first = Part(source, rest, (*late.elements(), *first.symbols))
        return cls(begin, (first, *parts[1:]))

    def sentences(self, whole: Sentence[Any], first: int) -> list[Sentence[int]]:
        """The parts as sentences, each with its share of the lengths; some may be empty.

        Their tickets count from `first`.
        """
        options = whole.options
        fixed = len(self.begin) + sum(len(part.symbols) for part in self.parts)
        total = max(1, sum(len(part.ids) for part in self.parts))
        found = []
        for number, part in enumerate(self.parts, 1):
            share, most = len(part.ids) / total, options.max_length
            least = max(0, math.ceil((options.min_length - fixed) * share))
            if most is not None:
                most = max(1, int((most - fixed) * share))
                least = min(least, most)
            own = dataclasses.replace(options, min_length=least, max_length=most)
            index = (*whole.index, number)
            found.append(Sentence(part.ids, own, first + number - 1, part.prefix, index))
        return found

    def join(
        self, translations: Sequence[Sequence[Hypothesis]], options: DecodingOptions
    ) -> list[Hypothesis]:
        """Whole hypotheses of those of the parts, best first; a symbol's log-probability is 0."""
        count = max(len(hypotheses) for hypotheses in translations)
        return [
            self._joined([h[min(rank, len(h) - 1)] for h in translations], options)
            for rank in range(count)
        ]

    def _joined(self, found: Sequence[Hypothesis], options: DecodingOptions) -> Hypothesis:
        ids, scores = list(self.begin), [0.0] * len(self.begin)
        total = 0.0
        for part, hypothesis in zip(self.parts, found, strict=True):
            ids += [*hypothesis.ids, *part.symbols]
            scores += hypothesis.token_scores[: len(hypothesis.ids)]
            scores += [0.0] * len(part.symbols)
            total += sum(hypothesis.token_scores)
        penalty = length_penalty(np.array([len(ids) + 1]), np.array([options.length_penalty]))
        score, truncated = total / float(penalty[0]), any(h.truncated for h in found)
        return Hypothesis(tuple(ids), score, truncated, tuple(scores))


def _part(tokens: Sequence[int], eos: int, symbols: tuple[int, ...]) -> Part:
    return Part((*tokens, eos) if tokens else (), (), symbols)


class Submit(Protocol):
    """Translates sentences; an empty one has the empty translation."""

    def __call__(
        self,
        sentences: Sequence[Sentence[int]],
        joined: Callable[[], object] | None,
        accepted: bool,
    ) -> Future[Translations]:
        """Queue sentences; those of a request that was accepted are part of its work."""
        ...


class Repair:
    """What is still to do for translated sentences: the splits of those that lack symbols.

    Attributes:
        sentences: all of their parts; a ticket is its place among them.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence[Any]],
        translations: Translations,
        symbols: frozenset[int],
    ) -> None:
        self._translations = translations
        self._splits: list[tuple[int, Split, list[Hypothesis]]] = []
        """Places of sentences, how they are split, and their hypotheses that lack nothing."""
        self._options = [sentence.options for sentence in sentences]
        self.sentences: list[Sentence[int]] = []
        for place, (sentence, found) in enumerate(zip(sentences, translations, strict=True)):
            wanted = collections.Counter(token for token in sentence.ids if token in symbols)
            whole = [h for h in found if not wanted - collections.Counter(h.ids)]
            if len(whole) < len(found):
                split = Split.of(sentence.ids, sentence.prefix, symbols)
                self._splits.append((place, split, whole))
                self.sentences += split.sentences(sentence, len(self.sentences))

    def join(self, parts: Translations) -> Translations:
        """The translations, joined ones in the place of those that lacked something."""
        result, following = list(self._translations), iter(parts)
        for place, split, whole in self._splits:
            own = list(itertools.islice(following, len(split.parts)))
            joined = split.join(own, self._options[place])
            result[place] = [*whole, *joined][: len(result[place])]
        return result


def translate(
    sentences: Sequence[Sentence[int]],
    symbols: frozenset[int],
    submit: Submit,
    joined: Callable[[], object] | None = None,
) -> Future[Translations]:
    """Submit sentences, and the parts of those that come back without all their symbols.

    Ending the future that is returned ends what was submitted.

    Args:
        sentences: of one request.
        symbols: reserved tokens.
        submit: queues sentences.
        joined: called once when the first is in flight.
    """
    first = submit(sentences, joined, accepted=False)
    if not any(token in symbols for sentence in sentences for token in sentence.ids):
        return first
    whole: Future[Translations] = Future()

    def repair(translations: Translations) -> None:
        task = Repair(sentences, translations, symbols)
        if task.sentences:
            parts = submit(task.sentences, None, accepted=True)
            _follow(parts, whole, lambda found: whole.set_result(task.join(found)))
        else:
            whole.set_result(translations)

    whole.add_done_callback(_acknowledge)
    _follow(first, whole, repair)
    return whole


def _follow(
    part: Future[Translations],
    whole: Future[Translations],
    go_on: Callable[[Translations], object],
) -> None:
    """Go on when a part of the work is done; errors and the end of the whole are passed on."""

    def done(_: object) -> None:
        if part.cancelled():
            whole.cancel()
            return
        with contextlib.suppress(InvalidStateError):  # the whole ended meanwhile
            try:
                go_on(part.result())
            except InvalidStateError:
                raise
            except Exception as error:
                whole.set_exception(error)

    part.add_done_callback(done)
    whole.add_done_callback(lambda _: part.cancel())


def _acknowledge(future: Future[Translations]) -> None:
    if future.cancelled():
        future.set_running_or_notify_cancel()  # else concurrent.futures.wait never returns
