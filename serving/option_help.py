"""What each option of a request means and may be, for --help and for a server's configuration."""

from __future__ import annotations

import dataclasses

from serving.options import DETAILS, MOST_ENTRIES, RANGES, TEXT_FORMATS, DecodingOptions

MEANINGS = {
    "beam_size": "hypotheses kept per step; 1 is greedy search",
    "length_penalty": "alpha of Wu et al. 2016; more favours long output",
    "n_best": "translations of each text, at most beam_size",
    "min_length": "tokens that a sentence's translation has at least",
    "max_length": "tokens that it has at most",
    "repetition_penalty": "more than 1 makes tokens less likely once used",
    "no_repeat_ngram_size": "no run of so many tokens comes twice; 0 allows it",
    "suppress": "words or pieces that never appear",
    "prefix": "text with which every translation begins",
    "temperature": "above 0 draws translations at random; 1 as the model has it",
    "top_k": "draw from so many of the likeliest tokens",
    "top_p": "draw from the likeliest tokens that together have this probability",
    "seed": "the same draws every time",
    "format": "what the text is; html serves XML as well",
    "glossary": "terms and their translations",
    "protect": "terms, or /regular expressions/, that stay as they are",
    "return": "what the answer's details hold",
}
"""Of every option, by the name that a request has for it."""


def allowed(name: str) -> str:
    """The values that an option may have, in words."""
    if name in RANGES:
        kind = "integer" if RANGES[name].whole else "number"
        return f"{kind} {RANGES[name]}"
    if name == "format":
        return " or ".join(TEXT_FORMATS)
    if name == "return":
        return f"any of {', '.join(DETAILS)}"
    if name == "glossary":
        return f"object of up to {MOST_ENTRIES[name]} terms"
    return f"list of up to {MOST_ENTRIES[name]} texts" if name in MOST_ENTRIES else "text"


def default(name: str) -> str:
    """What holds where a request does not say, in words."""
    if name == "max_length":
        return "source length + 50"
    if name == "seed":
        return "drawn anew"
    if name == "format":
        return TEXT_FORMATS[0]
    if name not in RANGES:
        return "none"
    (value,) = [f.default for f in dataclasses.fields(DecodingOptions) if f.name == name]
    return str(value)


def described(name: str) -> str:
    """All of it in one line."""
    return f"{MEANINGS[name]}; {allowed(name)}; default: {default(name)}"


def config_lines() -> list[str]:
    """The lines of the ensemble's config.pbtxt that show all options to its clients."""
    line = 'parameters {{ key: "option {}" value: {{ string_value: "{}" }} }}'
    return [line.format(name, described(name)) for name in MEANINGS]
