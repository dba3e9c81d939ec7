"""Explain a syntax error if jinja2's own message is not helpful.

jinja2 reports an unclosed block at the end of the file, or at the tag that closes another one. This module finds the
block by indentation: a block's closing tag is usually indented like its start tag.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import jinja2

_ENTITY = re.compile(r"&(?:lt|gt|quot|amp|apos|#39|#x27|#34);")
_CURLY = re.compile("unexpected char '([\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb`])'")
_UNCLOSED = "needs to be closed is"
_CUT_OFF = "unexpected end of template"
_OPENERS = ("if", "for", "macro", "call", "filter", "generation")


@dataclass(frozen=True)
class _Block:
    name: str
    line: int
    indent: int


def hint(environment: jinja2.Environment, source: str, message: str) -> str:
    """Return a hint as a clause, or an empty string if jinja2's message is sufficient. Never raises."""
    entity = _ENTITY.search(source)
    if entity is not None and "unexpected char '&'" in message:
        return f"the source is escaped for HTML, with {entity[0]} in it: unescape it"
    curly = _CURLY.search(message)
    if curly is not None:
        return f"{curly[1]} is not a quotation mark in jinja2: write ' or \""
    if _CUT_OFF in message:
        return "the file ends in the middle of a tag; it may be truncated"
    block = _unclosed(environment, source) if _UNCLOSED in message else None
    return "" if block is None else f"look at the `{block.name}` in line {block.line}, which is not closed"


def _unclosed(environment: jinja2.Environment, source: str) -> _Block | None:
    """Return the first block whose closing tag is indented differently, else the innermost block without one."""
    opened: list[_Block] = []
    for tag in _tags(environment, source):
        if not tag.name.startswith("end"):
            opened.append(tag)
        elif opened:
            block = opened.pop()
            if block.indent != tag.indent or tag.name != f"end{block.name}":
                return block
    return opened[-1] if opened else None


def _tags(environment: jinja2.Environment, source: str) -> list[_Block]:
    """Return the tags that start and close blocks, as far as the source can be split into tokens."""
    lines = source.splitlines()
    tags: list[_Block] = []
    tag_tokens: list[tuple[int, str, str]] = []
    try:
        for token in environment.lex(source):
            if token[1] == "block_begin":
                tag_tokens = [token]
            elif token[1] == "block_end" and len(tag_tokens) > 1:
                words = [value for _, kind, value in tag_tokens[1:] if kind != "whitespace"]
                line = tag_tokens[0][0]
                if words[0] in _OPENERS or words[0].startswith("end") or (words[0] == "set" and "=" not in words):
                    tags.append(_Block(words[0], line, _indent(lines, line)))
                tag_tokens = []
            elif tag_tokens:
                tag_tokens.append(token)
    except jinja2.TemplateSyntaxError:
        pass
    return tags


def _indent(lines: list[str], line: int) -> int:
    text = lines[line - 1] if line <= len(lines) else ""
    return len(text) - len(text.lstrip())
