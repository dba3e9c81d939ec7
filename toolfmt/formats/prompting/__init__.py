"""Describe tools in a prompt, with example calls."""
