"""Translation engines side by side: the same weights, sentences, search and threads."""
