"""Capabilities in depth, of turns: one module a subject, each with questions that take `Asking` and give an `Answer`."""
