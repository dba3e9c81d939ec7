"""Adapters that use toolfmt in other runtimes, one module each, which imports the package it is for.

Nothing is imported here, so a program only needs the packages of the modules that it imports.
"""
