"""One value of an argument: how it is read, in which syntaxes, and how it is written."""
