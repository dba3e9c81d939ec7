"""Asking a template: conversations, what it renders for them, and what the differences show."""
