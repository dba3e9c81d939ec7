"""Helpers that every package may import: text lists, shell quoting, typed JSON, JSON values."""
