"""The parser of a whole output: content, reasoning and calls, fed in chunks."""
