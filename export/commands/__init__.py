"""Subcommands of `dragoman` that need `export`."""
