"""Input and output of a model: messages, tool definitions, calls, parser events."""
