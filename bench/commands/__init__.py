"""Commands of `dragoman bench`."""
