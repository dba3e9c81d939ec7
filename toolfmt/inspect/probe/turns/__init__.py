"""Capabilities in depth, of turns: one module a subject; each question takes `TurnProbe` and gives an `Answer`."""
