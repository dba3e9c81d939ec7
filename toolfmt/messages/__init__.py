"""What goes into a model and comes out of it: messages, tool definitions, calls, parser events."""
