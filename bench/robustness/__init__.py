"""What becomes of translations when text is as people write it."""
