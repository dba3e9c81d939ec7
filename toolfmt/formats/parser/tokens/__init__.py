"""Parse token ids: a marker that is one token of the tokenizer counts only where the model wrote that token."""
