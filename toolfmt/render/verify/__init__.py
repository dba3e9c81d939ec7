"""Verifying on a finished prompt that it holds everything of its request."""
