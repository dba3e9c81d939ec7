"""The command line: what it takes, what it prints, and with which status it ends."""
