"""Compile and render a chat template as transformers does."""
