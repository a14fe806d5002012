"""Implementations of `serving.engine.Engine`."""
