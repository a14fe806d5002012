"""Subcommands of `dragoman` that need `model`."""
