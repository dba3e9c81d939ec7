"""Edit templates: the source as words, object accesses, edits, and clauses before the template."""
