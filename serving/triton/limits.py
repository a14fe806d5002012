"""How much one request may hold. Limits of the search are in `serving.options`."""

MAX_TEXTS = 1024
"""Texts in one request."""

MAX_TEXT_CHARACTERS = 20_000
"""Characters in one text, before normalisation."""
