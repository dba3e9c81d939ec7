"""Find the chat templates of a model in directories, GGUF files and repositories."""
