"""Adaptors: one module a runtime or framework, which imports the package it serves; nothing else imports them."""
