"""A long text at a server: when its first sentence comes, and what becomes of other clients."""
