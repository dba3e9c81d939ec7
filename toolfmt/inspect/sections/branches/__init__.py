"""Conditions that plain probes do not reach: each is tested with its own conversation and compared to the usual one."""
