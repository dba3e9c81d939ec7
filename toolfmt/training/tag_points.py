"""The points of a template's source where `{% generation %}` or `{% endgeneration %}` is possible.

These are before every tag, around the parts of a literal text, and at operators that join printed values. A tag there
changes neither the values nor the whitespace that the template renders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolfmt.inspect.checks.editing.source import Word, words

_PARTS = re.compile(r"<[^<>\s]{1,60}>|\[[^\[\]\s]{1,60}\]|(?:\\n|\n)+|[ \t]+|(?:(?!\\n)[^<\[\s])+|.")
"""Parts of a literal text between which a response may begin or end: markers, line breaks, spaces, words."""
_OPENING = frozenset(["if", "for", "macro", "call", "filter", "generation", "block", "with", "autoescape"])
_CAPTURING = frozenset(["macro", "call", "filter", "set"])
"""Blocks whose output may be changed before it is printed."""
_NOT_JOINED = frozenset(["if", "else", "and", "or", "not", "in", "is"])
_JOINING = ("+", "~")


@dataclass(frozen=True)
class Point:
    """A point where a tag is possible.

    A tag replaces the characters from `start` to `end`: an operator between printed values, or nothing. `begins` and
    `ends` are its delimiters. `left` ends the expression around it, and `right` starts the expression again.

    `path` lists the blocks that contain the point, each with its branch. Both tags of a pair need the same path.
    `variables` lists the variables of the loops among them, with an empty string for a loop with several variables.
    `captured` is whether the output may be changed before it is printed, `is_inside` whether the point is inside a
    text or an expression.
    """

    start: int
    end: int
    path: tuple[tuple[int, int], ...]
    variables: tuple[str, ...]
    captured: bool
    begins: str = "{%"
    ends: str = "%}"
    left: str = ""
    right: str = ""
    is_inside: bool = False

    def tag(self, text: str) -> str:
        """Return the tag with this text, with `left` and `right` around it."""
        return f"{self.left}{self.begins} {text} {self.ends}{self.right}"


def points_of(source: str) -> list[Point]:
    """Return the points of a source, in order. Empty if its words cannot be determined."""
    listed = words(source)
    if not listed:
        return []
    blocks, found, at = _Blocks(), list[Point](), 0
    while at < len(listed):
        last = _closed(listed, at)
        word, inside = listed[at], listed[at + 1 : last]
        found.append(blocks.placed(_before(source, word)))
        if word.kind == "data":
            found += [
                blocks.placed(replace(_between(source, word.start + offset), is_inside=True))
                for offset in _cuts(word.text)
            ]
        elif word.kind == "variable_begin":
            found += map(blocks.placed, _joints(listed[at : last + 1]))
        elif word.kind == "block_begin" and inside:
            blocks.take(word.start, inside)
        at = last + 1
    return [*found, blocks.placed(_between(source, len(source)))]


def _closed(listed: Sequence[Word], at: int) -> int:
    """Return the index of the delimiter that ends the tag at this word, or the word itself if it is a text."""
    closing = {"block_begin": "block_end", "variable_begin": "variable_end"}.get(listed[at].kind)
    if closing is None:
        return at
    return next((number for number in range(at, len(listed)) if listed[number].kind == closing), len(listed) - 1)


class _Blocks:
    """The blocks that contain the current point."""

    def __init__(self) -> None:
        self._open: list[tuple[int, int, str, str | None]] = []
        self._branches = 0

    def take(self, start: int, inside: Sequence[Word]) -> None:
        """Process a tag, which may begin a block, begin a branch of it, or end it."""
        name = inside[0].text
        if name in _OPENING or (name == "set" and not any(word.is_one("=") for word in inside)):
            variable = None if name != "for" else inside[1].text if inside[2].is_one("in") else ""
            self._open.append((start, self._branch(), name, variable))
        elif name in ("else", "elif") and self._open:
            start, _, name, variable = self._open.pop()
            self._open.append((start, self._branch(), name, variable))
        elif name.startswith("end") and self._open:
            self._open.pop()

    def placed(self, point: Point) -> Point:
        """Return the point in the current blocks."""
        return replace(
            point,
            path=tuple((start, branch) for start, branch, _, _ in self._open),
            variables=tuple(variable for *_, variable in self._open if variable is not None),
            captured=any(name in _CAPTURING for _, _, name, _ in self._open),
        )

    def _branch(self) -> int:
        self._branches += 1
        return self._branches


def _before(source: str, word: Word) -> Point:
    """Return the point before a tag or a text."""
    point = _between(source, word.start)
    dash = word.kind in ("block_begin", "variable_begin") and word.text.endswith("-")
    if dash and source[: word.start][-1:].isspace():
        return replace(point, begins="{%-")
    return replace(point, begins="{%") if word.kind == "block_begin" else point


def _between(source: str, at: int) -> Point:
    """Return a point in a text. Its tag keeps the whitespace at the start of its line, and the line break after it."""
    line = source[:at].rpartition("\n")[2]
    begins = "{%+" if line and not line.strip(" \t") else "{%"
    return Point(at, at, (), (), False, begins, "+%}" if source.startswith("\n", at) else "%}")


def _cuts(text: str) -> list[int]:
    """Return the offsets in a literal text at which a response may begin or end."""
    return [part.start() for part in _PARTS.finditer(text) if part.start()]


def _ends_value(word: Word) -> bool:
    """Return whether a printed value ends next to this word."""
    return word.is_one(*_JOINING) or word.kind in ("variable_begin", "variable_end")


def _is_literal(tag: Sequence[Word], at: int) -> bool:
    """Return whether the printed value that contains this word is a string literal."""
    return tag[at].kind == "string" and _ends_value(tag[at - 1]) and _ends_value(tag[at + 1])


def _joints(tag: Sequence[Word]) -> Iterator[Point]:
    """Yield the points at operators that join the values of a printed expression, and in literals among the values."""
    depth, outer = 0, []
    for word in tag:
        depth -= word.is_one(")", "]", "}")
        outer.append(depth == 0)
        depth += word.is_one("(", "[", "{")
    top = [word for word, is_outer in zip(tag, outer, strict=True) if is_outer]
    if any(word.is_one(*_NOT_JOINED) or word.kind in ("integer", "float") for word in top):
        return
    joints = [number for number in range(1, len(tag) - 1) if outer[number] and tag[number].is_one(*_JOINING)]
    adds = any(tag[number].is_one("+") for number in joints)
    for number, word in enumerate(tag[1:-1], 1):
        before, after = tag[number - 1], tag[number + 1]
        if not outer[number]:
            continue
        if word.is_one("+"):
            # Without a string, the part would print what the sum rejects, for example None. An empty string rejects it.
            left = " }}" if _is_literal(tag, number - 1) else " + '' }}"
            further = [other + 1 for other in joints if other > number][:1]
            is_string = any(_is_literal(tag, at) for at in (number + 1, *further))
            right = "{{ " if is_string else "{{ '' + "
            yield Point(before.end, after.start, (), (), False, left=left, right=right, is_inside=True)
        elif word.is_one("~") and not adds:  # `~` binds tighter
            yield Point(before.end, after.start, (), (), False, left=" }}", right="{{ ", is_inside=True)
        elif _is_literal(tag, number):
            quote = word.text[0]
            for offset in _cuts(word.text[1:-1]):
                at = word.start + 1 + offset
                yield Point(at, at, (), (), False, left=f"{quote} }}}}", right=f"{{{{ {quote}", is_inside=True)
