"""The third graph: where each word of a translation comes from."""
