"""Conditions that a plain probe never meets: each is used by a conversation made for it, and compared."""
