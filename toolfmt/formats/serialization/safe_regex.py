"""Which regular expressions are taken from a file: short ones that take time in proportion to the text they search.

What a pattern from a stranger could blow up on are repetitions that can match one text in many ways. So one without a
bound is of a single character or class, behind a literal that the class does not hold (no two searches then run over
the same stretch) and before one that it does not hold, or at the end (there is one place where it can stop). All else
has a bound, and the ways in which it can match are counted. Groups that capture, names, options, back references and
words' edges are left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LONGEST = 300
_MOST_WAYS = 100
_MOST_REPEATED = 64
_DEEPEST = 8
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_CLASSES = frozenset("sSwWdD")
_OPENING = re.compile(r"\((\?(?::|=|!|<=|<!))?")
_CLASS = re.compile(r"\[\^?\]?(?:[^\]\\\[]|\\[^a-zA-Z0-9]|\\[sSwWdDntr])*\]")
_QUANTIFIER = re.compile(r"[*+?]|\{[0-9]{1,4}(?:,[0-9]{0,4})?\}")


class NotTaken(Exception):
    """Why a pattern is not taken."""


def check_pattern(pattern: str) -> None:
    """Nothing, for a pattern that is taken. Raises `NotTaken`."""
    if not pattern:
        raise NotTaken("is empty: it would match everywhere")
    if len(pattern) > _LONGEST:
        raise NotTaken(f"is a regular expression of more than {_LONGEST} characters")
    reader = _Reader(pattern)
    ways, _ = reader.options(0)
    if reader.at < len(pattern):
        raise NotTaken("is not a valid regular expression: a closing parenthesis has no opening one")
    if ways > _MOST_WAYS:
        raise NotTaken(f"can match a string in more than {_MOST_WAYS} ways; use fewer alternatives and repetitions")
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError) as error:
        raise NotTaken(f"is not a supported regular expression ({error})") from None
    if compiled.match(""):
        raise NotTaken("matches the empty string: it would match everywhere")


@dataclass(frozen=True)
class _Part:
    """A part of a sequence: in how many ways it matches; one character that it is, or one class; and its repetition."""

    ways: int
    literal: str = ""
    one_of: str = ""
    unbounded: bool = False


@dataclass
class _Reader:
    source: str
    at: int = 0

    def options(self, depth: int) -> tuple[int, bool]:
        """The ways of alternatives together, and whether one of them has a repetition without a bound."""
        if depth > _DEEPEST:
            raise NotTaken("has groups that are nested too deeply")
        ways, unbounded = self._sequence(depth)
        while self.source.startswith("|", self.at):
            self.at += 1
            more, also = self._sequence(depth)
            ways, unbounded = ways + more, unbounded or also
        return ways, unbounded

    def _sequence(self, depth: int) -> tuple[int, bool]:
        parts = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            parts.append(self._quantified(self._part(depth)))
        ways = 1
        for place, part in enumerate(parts):
            ways = min(ways * part.ways, _MOST_WAYS + 1)
            if part.unbounded:
                before = parts[place - 1] if place else _Part(1)
                behind = parts[place + 1] if place + 1 < len(parts) else None
                if not self._apart(part, before) or (behind is not None and not self._apart(part, behind)):
                    raise NotTaken(
                        f"repeats {part.one_of!r} without an upper bound, which requires a literal character "
                        "before and after it that it does not match; add a bound such as {0,40}"
                    )
        return ways, any(part.unbounded for part in parts)

    def _apart(self, repeated: _Part, beside: _Part) -> bool:
        literal = beside.literal
        return bool(literal) and not re.fullmatch(repeated.one_of, literal, re.IGNORECASE)

    def _part(self, depth: int) -> _Part:
        sign = self.source[self.at]
        if sign == "(":
            return self._group(depth)
        if sign == "[":
            found = _CLASS.match(self.source, self.at)
            if found is None:
                raise NotTaken("has a character class that is not closed or contains unsupported syntax")
            self.at = found.end()
            return _Part(1, one_of=found[0])
        self.at += 1
        if sign == "\\":
            escaped = self.source[self.at : self.at + 1]
            self.at += 1
            if escaped in _CLASSES and escaped:
                return _Part(1, one_of="\\" + escaped)
            if not escaped or (escaped.isalnum() and escaped not in _CONTROLS):
                raise NotTaken(f"has \\{escaped}, which is not supported")
            literal = _CONTROLS.get(escaped, escaped)
            return _Part(1, literal, re.escape(literal))
        if sign in "^$*+?{":
            raise NotTaken(f"has {sign!r} in an unsupported position; write the literal character as \\{sign}")
        return _Part(1, one_of=".") if sign == "." else _Part(1, sign, re.escape(sign))

    def _group(self, depth: int) -> _Part:
        opening = _OPENING.match(self.source, self.at)
        if opening is None or opening[1] is None:
            raise NotTaken("has an unsupported kind of group; use (?:…)")
        self.at = opening.end()
        ways, unbounded = self.options(depth + 1)
        if unbounded:
            raise NotTaken("has a repetition without an upper bound in a group; add a bound such as {0,40}")
        if not self.source.startswith(")", self.at):
            raise NotTaken("has a group that is not closed")
        self.at += 1
        return _Part(ways)

    def _quantified(self, part: _Part) -> _Part:
        found = _QUANTIFIER.match(self.source, self.at)
        if found is None:
            return part
        self.at = found.end()
        if self.source[self.at : self.at + 1] in ("?", "+", "*", "{") and self.at < len(self.source):
            raise NotTaken("has a repetition of a repetition, which is not supported")
        if found[0] == "?":
            return _Part(part.ways + 1)
        if not part.one_of:
            raise NotTaken(f"repeats a group ({found[0]}), which is not supported; repeat a character class")
        if found[0] in ("*", "+") or found[0].endswith(",}"):
            return _Part(1, one_of=part.one_of, unbounded=True)
        least, _, most = found[0][1:-1].partition(",")
        if int(most or least) > _MOST_REPEATED:
            raise NotTaken(f"repeats something more than {_MOST_REPEATED} times")
        return _Part(max(int(most or least) - int(least), 0) + 1)
