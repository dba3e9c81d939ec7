"""Changes to a request that a template needs, each with a name."""
