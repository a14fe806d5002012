"""The training recipe, and runs that survive interruption."""
