"""Which tool-call format a template speaks: decided by evidence, proven by reading its calls back."""
