"""Everything at run time: engines, beam search, scheduler, text, Triton glue. No PyTorch here."""
