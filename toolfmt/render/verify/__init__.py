"""Verify that a finished prompt contains everything of its request."""
