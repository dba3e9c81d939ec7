"""Finding the chat templates of a model: directories, GGUF files, repositories."""
