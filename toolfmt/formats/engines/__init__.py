"""The ways in which calls are written. Each engine reads, writes and describes the calls of many formats."""
