"""Export the node language of `toolfmt.formats.values.nodes` as grammars of engines for constrained decoding.

The exporters only depend on formats. Writing a grammar requires no other package.
"""
