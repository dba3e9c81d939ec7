"""Read and check a request: messages, tools and options."""
