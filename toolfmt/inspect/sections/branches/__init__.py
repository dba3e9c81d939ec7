"""Conditions that a plain probe never meets: each is taken by a conversation made for it, and compared."""
