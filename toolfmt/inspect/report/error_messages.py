"""How a template failed, as data: what it wants in plain words beside the engine's own, which can be looked up.

Probes, chapters and checks call `thrown` for what a person reads; the error itself keeps its full text. Only the
engine's words are searched, each kind of exception for what it says itself: what a template refuses with is its own.
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
"""What the engine says of something that is not there, and what that is called; a name that the template chose so that
it ends the quotation is left to the engine's words."""
_SAID = (
    ("TypeError: Object of type Undefined is not JSON serializable", "a key is undefined"),
    ("RecursionError: maximum recursion depth exceeded", "infinite recursion"),
    ("TypeError: can only concatenate str", "it concatenates a string and another type"),
    ("TypeError: unsupported operand type", "it combines incompatible types"),
    ("TypeError: argument of type 'NoneType' is not", "it searches in null"),
    ("TypeError: object of type 'NoneType' has no len()", "it takes the length of null"),
    ("TypeError: Can only get item pairs from a mapping", "it expects an object"),
)
"""How the engine's words begin, and what they mean."""
_KINDS = (
    (re.compile(r"TypeError: [\w.() ]{0,80}must be str, not \w{1,80}"), "it concatenates a string and another type"),
    (re.compile(r"TypeError: '[\w.]{1,80}' object is not iterable"), "it iterates over something that is not a list"),
)
"""The same of words that name a kind of value before they say what it lacks."""


def thrown(error: TemplateError) -> TemplateFailure:
    """What the template threw, with what it wants in plain words where there are such words."""
    in_words = _in_words(error.own_words) if error.kind == "not-rendered" else ""
    return TemplateFailure(error.kind, error.own_words, in_words)


def lacks_a_filter(error: TemplateError) -> bool:
    """Whether the template failed for want of a filter that the engine does not have."""
    return error.kind == "not-rendered" and error.own_words.startswith("TemplateRuntimeError: No filter named ")


def _in_words(own_words: str) -> str:
    for pattern, what in _NAMED:
        found = pattern.fullmatch(own_words)
        if found:
            return _NOT_THERE.format(what.format(found[1]))
    kinds = (words for pattern, words in _KINDS if pattern.fullmatch(own_words))
    return next(kinds, "") or next((words for said, words in _SAID if own_words.startswith(said)), "")
