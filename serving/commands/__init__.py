"""Subcommands of `dragoman` that run without PyTorch."""
