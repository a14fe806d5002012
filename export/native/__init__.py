"""The portable graphs as models of Triton's own backends."""
