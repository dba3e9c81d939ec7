"""Formats as JSON data, for files and for other processes."""
