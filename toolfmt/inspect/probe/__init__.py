"""Probes of a template: conversations, their renders, and what the differences between renders show."""
