"""From text pairs to batches of token ids."""
