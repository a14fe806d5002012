"""Words that need no aligner: names and numbers that stand once on either side."""

from __future__ import annotations

from model.diagonal import Links
from model.word_pairs import WordPair


def planted(pair: WordPair) -> Links:
    """Source and target word of each such word: two characters or more, a capital or a digit."""
    return {
        (pair.source_words.index(word), place)
        for place, word in enumerate(pair.target_words)
        if len(word) > 1
        and (word[0].isupper() or any(map(str.isdigit, word)))
        and pair.target_words.count(word) == pair.source_words.count(word) == 1
    }
