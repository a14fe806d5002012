"""How much one request may hold. Limits of the search are in `serving.options`."""

MAX_TEXTS = 1024
"""Texts in one request."""

MAX_CHARACTERS = 1 << 20
"""Characters in all texts of one request: a book's worth in a few."""
