"""Detailed capabilities of turns: one module per subject. Each function takes a `TurnProbe` and returns an `Answer`."""
