"""Named changes to a request that a template needs."""
