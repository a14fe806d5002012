"""Which cross-attention aligns words best, measured without a gold standard."""
