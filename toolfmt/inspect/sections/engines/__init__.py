"""Template engines other than jinja2, one module each, and what the section on portability needs of an engine."""
