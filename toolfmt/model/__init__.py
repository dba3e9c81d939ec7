"""A model as one object, and the only package in which templates meet processes."""
