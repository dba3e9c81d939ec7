"""Exporters: the node language of `toolfmt.formats.nodes` in the dialects that engines of constrained decoding read.

They know formats only, and no package: writing a grammar needs nothing installed.
"""
