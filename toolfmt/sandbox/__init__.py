"""Where templates of strangers run: a process with limits, and what it answers."""
