"""How each runtime handles the model: the template it uses, the parser it selects, the flag to set."""
