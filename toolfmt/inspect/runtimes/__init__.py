"""What each runtime does with the model: the template it takes, the parser it finds, the flag to set."""
