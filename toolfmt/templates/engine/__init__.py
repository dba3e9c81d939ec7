"""Compiling and rendering a chat template as transformers does."""
