"""How a conversation with tools becomes a prompt: through the template or as prose, never both."""
