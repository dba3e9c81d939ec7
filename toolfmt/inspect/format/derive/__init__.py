"""Derive a format from the calls that a template renders, and verify it on other calls.

Known formats are not used.
"""
