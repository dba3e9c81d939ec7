"""Capabilities in depth, of turns: one module a subject; each question takes `Asking` and gives an `Answer`."""
