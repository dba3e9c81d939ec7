"""Detect the tool-call format of a template: decided by evidence, verified by reading its calls back."""
