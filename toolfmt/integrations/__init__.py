"""Adaptors that put toolfmt into other runtimes, a module each: `for_<package>` imports the package it serves.

Nothing is imported here: a program takes the one that it needs, and only that package has to be there.
"""
