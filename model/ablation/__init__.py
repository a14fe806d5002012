"""Which parts of the Transformer matter: one base, rows that change one thing, equal budgets."""
