"""The engines: each parses, writes and describes the calls of many formats."""
