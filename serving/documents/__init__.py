"""Texts as people write them: cut into sentences to translate, and put together again."""
