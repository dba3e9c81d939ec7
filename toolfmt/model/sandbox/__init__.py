"""A worker process with limits, which runs untrusted templates."""
