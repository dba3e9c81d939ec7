"""Which parts of a tool's definition the prompt contains."""
