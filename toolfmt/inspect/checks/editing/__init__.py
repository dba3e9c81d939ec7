"""How a template is edited: its source in words, the places it looks into, edits and clauses before it."""
