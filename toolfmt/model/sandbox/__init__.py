"""Where templates of strangers run: a process with limits."""
