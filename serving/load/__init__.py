"""Load on a running server, and what it makes of it; behind `dragoman load`."""
