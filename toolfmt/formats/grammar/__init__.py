"""Grammars of calls, for constrained decoding and for tests: nodes that exporters translate."""
