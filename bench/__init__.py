"""Measurements; each prints its machine, and pairs what it compares in alternating rounds."""
