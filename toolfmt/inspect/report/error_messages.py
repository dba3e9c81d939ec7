"""Describe why a template failed: a plain explanation next to the engine's error text.

Probes, sections and checks call `thrown` for the readable form; the error itself keeps its full text. Only the
engine's own messages are matched. What a template raises itself is not.
"""

from __future__ import annotations

import re

from toolfmt.errors import TemplateError
from toolfmt.inspect.report.report import TemplateFailure

_NOT_THERE = "{} is undefined"
_NAMED = (
    (re.compile(r"UndefinedError: .{1,200} has no attribute '([^'`]{1,80})'"), "`{}`"),
    (re.compile(r"UndefinedError: '([^'`]{1,80})' is undefined"), "`{}`"),
    (re.compile(r"(?:TemplateRuntimeError: )?No filter named '([^']{1,80})'(?: found)?\.?"), "a filter named '{}'"),
    (re.compile(r"(?:TemplateRuntimeError: )?No test named '([^']{1,80})'(?: found)?\.?"), "a test named '{}'"),
)
"""The engine's errors for something undefined, and its description.

Names that could end the quotation do not match.
"""
_MESSAGES = (
    ("TypeError: Object of type Undefined is not JSON serializable", "a key is undefined"),
    ("RecursionError: maximum recursion depth exceeded", "infinite recursion"),
    ("TypeError: can only concatenate str", "the template concatenates a string and another type"),
    ("TypeError: unsupported operand type", "the template combines incompatible types"),
    ("TypeError: argument of type 'NoneType' is not", "the template searches in null"),
    ("TypeError: object of type 'NoneType' has no len()", "the template calls `length` on null"),
    ("TypeError: Can only get item pairs from a mapping", "the template expects an object"),
)
"""How engine errors start, and their meaning."""
_KINDS = (
    (
        re.compile(r"TypeError: [\w.() ]{0,80}must be str, not \w{1,80}"),
        "the template concatenates a string and another type",
    ),
    (
        re.compile(r"TypeError: '[\w.]{1,80}' object is not iterable"),
        "the template iterates over something that is not a list",
    ),
)
"""The same for errors that start with a type."""


def thrown(error: TemplateError) -> TemplateFailure:
    """Return the failure, with a plain explanation if the engine error has one."""
    in_words = _in_words(error.engine_message) if error.kind == "not-rendered" else ""
    return TemplateFailure(error.kind, error.engine_message, in_words)


def lacks_a_filter(error: TemplateError) -> bool:
    """Return whether the template failed because the engine lacks a filter."""
    return error.kind == "not-rendered" and error.engine_message.startswith("TemplateRuntimeError: No filter named ")


def _in_words(engine_message: str) -> str:
    for pattern, what in _NAMED:
        found = pattern.fullmatch(engine_message)
        if found:
            return _NOT_THERE.format(what.format(found[1]))
    kinds = (words for pattern, words in _KINDS if pattern.fullmatch(engine_message))
    return next(kinds, "") or next((words for start, words in _MESSAGES if engine_message.startswith(start)), "")
