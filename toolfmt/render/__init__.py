"""Render a conversation with tools as a prompt: tools go through the template or into the system prompt, never both."""
