"""Formats as JSON data: files of formats, and formats that are sent to another process."""
