"""A format read off the calls that a template renders, and proven by calls that it was not read off.

No known format is asked.
"""
