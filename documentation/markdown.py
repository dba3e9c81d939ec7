"""Pieces of Markdown: tables, code, and text that was written for a terminal. Text in, text out."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence

_FENCED = re.compile(r"(^ *(?P<fence>`{3,}|~{3,}).*?^ *(?P=fence)[`~]* *$)", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"((?:^(?: {4}|\t).*\n?|^\n(?=(?: {4}|\t)))+)", re.MULTILINE)
_SPAN = re.compile(r"((?<!`)(`+)(?!`).+?(?<!`)\2(?!`))", re.DOTALL)
_ITEM = re.compile(r"^ *(?:[-*]|\d+\.) ")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells are Markdown on one line."""
    lines = [_row(head), "|" + "---|" * len(head), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "&#124;").replace("\n", " ") for cell in cells) + " |"


def code(text: str, language: str = "text") -> str:
    """A block that shows the text unchanged, whatever backticks it contains."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"


def span(text: str) -> str:
    """The text in the midst of a line, in the letters of code; also in the cell of a table."""
    return f"<code>{literal(text)}</code>"


def spans(texts: Iterable[str]) -> str:
    """Several, with commas between them."""
    return ", ".join(map(span, texts))


def literal(text: str) -> str:
    """The text as HTML that Markdown does not interpret: every special character as an entity, newlines as `
    `.
    """
    shown = html.escape(text.replace("\n", "⏎"))
    return re.sub(r"[\\`*_{}\[\]|~^]", lambda match: f"&#{ord(match[0])};", shown)


def inline(text: str) -> str:
    """A sentence of the report or of a list of names: text between backticks is code, everything else is text."""
    parts = _parts(_SPAN, text)
    return "".join(span(part.strip("`")) if _SPAN.fullmatch(part) else literal(part) for part in parts)


def prose(text: str) -> str:
    """A docstring as Markdown that a browser shows completely: tags outside of code are text, lists are separate
    paragraphs.
    """
    return outside_code(text, lambda plain: _lists_apart(plain.replace("<", "&lt;")), indented=True)


def indented(text: str) -> str:
    """The text as the body of an item or of a folded block."""
    return "\n".join(f"    {line}" if line else "" for line in text.split("\n"))


def outside_code(text: str, change: Callable[[str], str], *, indented: bool = False) -> str:
    """The text with a change applied outside of code: not in a fence, a span, nor (on request) an indented block."""
    for pattern in (_FENCED, _INDENTED) if indented else (_FENCED,):
        if pattern.search(text):
            return "".join(
                part if pattern.fullmatch(part) else outside_code(part, change, indented=indented)
                for part in _parts(pattern, text)
            )
    return "".join(part if _SPAN.fullmatch(part) else change(part) for part in _parts(_SPAN, text))


def _parts(pattern: re.Pattern[str], text: str) -> list[str]:
    """The matches of the pattern, and the text between them, in order; empty parts are left out."""
    parts, end = [], 0
    for found in pattern.finditer(text):
        parts += [text[end : found.start()], found[0]]
        end = found.end()
    return [part for part in (*parts, text[end:]) if part]


def _lists_apart(text: str) -> str:
    """An empty line before a list that follows a paragraph: without it the list is a part of the paragraph."""
    lines: list[str] = []
    for line in text.split("\n"):
        if _ITEM.match(line) and lines and lines[-1].strip() and not _ITEM.match(lines[-1]) and lines[-1][0] != " ":
            lines.append("")
        lines.append(line)
    return "\n".join(lines)
