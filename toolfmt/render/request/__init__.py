"""The request: messages, tools and options, read and checked."""
