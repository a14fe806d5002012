"""Sentences that the faulty translator does not bear."""

POISON = "A step with this sentence fails."
STICK = "This sentence is never encoded."
