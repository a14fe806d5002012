"""The Transformer's predecessor: a GRU encoder-decoder with additive attention."""
