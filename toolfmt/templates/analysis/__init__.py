"""What a template's syntax tree shows without running anything."""
