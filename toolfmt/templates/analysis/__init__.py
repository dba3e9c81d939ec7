"""Static analysis of a template's syntax tree, without running anything."""
