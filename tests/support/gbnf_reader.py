"""A small reader of GBNF that decides whether a grammar accepts a text: stacks of what must follow, character by
character.

It reads only what llama.cpp and XGrammar read alike, and raises ValueError for anything else: names of letters, digits
and `-` that begin with a letter, the escapes they share, counts below 2,000, no rule that begins with itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

_RULE = re.compile(r"([a-zA-Z][a-zA-Z0-9-]*) ::= (.+)")
_TOKEN = re.compile(
    r'Token\((?P<id>[0-9]+)\)|(?P<literal>"(?:[^"\\]|\\.)*")|(?P<class>\[(?:[^\]\\]|\\.)*\])|(?P<name>[a-zA-Z][a-zA-Z0-9-]*)|(?P<bar>\|)'
    r"|(?P<times>[*+?]|\{[0-9]+(?:,[0-9]*)?\})|(?P<blank> )"
)
_CHARACTER = re.compile(r'\\u([0-9A-F]{4})|\\U([0-9A-F]{8})|\\([nrt"\\])|([^\\\n\r])')
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_LARGEST_COUNT = 1999


@dataclass(frozen=True)
class _Class:
    ranges: tuple[tuple[str, str], ...]
    but: bool

    def holds(self, character: str) -> bool:
        return any(first <= character <= last for first, last in self.ranges) != self.but


@dataclass(frozen=True)
class _OneToken:
    """XGrammar's `Token(ID)`."""

    id: int


Tokens: TypeAlias = Mapping[int, tuple[int, int]]
"""Which parts of a text are one token: the id and the length, by the position."""
_Symbol: TypeAlias = "str | _Class | _OneToken"
_Stack: TypeAlias = "tuple[_Symbol, Any] | None"


class Gbnf:
    """A grammar, read."""

    def __init__(self, text: str) -> None:
        self.rules: dict[str, list[list[_Symbol]]] = {}
        for line in text.splitlines():
            found = _RULE.fullmatch(line)
            if found is None or found[1] in self.rules:
                raise ValueError(f"no rule, or there twice: {line!r}")
            self.rules[found[1]] = []
            self.rules[found[1]] = list(self._alternatives(found[2], found[1]))
        named = {symbol for ways in self.rules.values() for way in ways for symbol in way if isinstance(symbol, str)}
        if missing := named - set(self.rules) | {"root"} - set(self.rules):
            raise ValueError(f"rules are missing: {sorted(missing)}")

    def accepts(self, text: str) -> bool:
        return None in self._after(text)

    def ends(self, text: str, begin: int, tokens: Tokens) -> set[int]:
        """The positions at which a text of the grammar that begins there may end.

        Characters match a token too, as in XGrammar, if it is not in the grammar as a token there.
        """
        found: set[int] = set()
        waiting: dict[int, set[_Stack]] = {begin: {("root", None)}}
        for at in range(begin, len(text) + 1):
            for stack in self._ready(waiting.pop(at, ())):
                if stack is None:
                    found.add(at)
                elif isinstance(stack[0], _OneToken):
                    id, length = tokens.get(at, (None, 0))
                    if id == stack[0].id:
                        waiting.setdefault(at + length, set()).add(stack[1])
                elif isinstance(stack[0], _Class) and at < len(text) and stack[0].holds(text[at]):
                    waiting.setdefault(at + 1, set()).add(stack[1])
        return found

    def may_begin(self, text: str) -> bool:
        """Whether a text of the grammar begins with this."""
        return bool(self._after(text))

    def _after(self, text: str) -> set[_Stack]:
        """What may follow a text."""
        stacks = self._ready([("root", None)])
        for character in text:
            stacks = self._ready(
                stack[1] for stack in stacks if stack and isinstance(stack[0], _Class) and stack[0].holds(character)
            )
        return stacks

    def _ready(self, stacks: Iterable[_Stack]) -> set[_Stack]:
        """The stacks whose top is a class of characters, or that are empty."""
        ready: set[_Stack] = set()
        waiting, seen = list(stacks), set()
        while waiting:
            stack = waiting.pop()
            if stack in seen:
                continue
            seen.add(stack)
            if len(seen) > 20_000:
                raise ValueError("a rule begins with itself")
            if stack is None or not isinstance(stack[0], str):
                ready.add(stack)
                continue
            for way in self.rules[stack[0]]:
                inner = stack[1]
                for symbol in reversed(way):
                    inner = (symbol, inner)
                waiting.append(inner)
        return ready

    def _alternatives(self, body: str, name: str) -> Iterator[list[_Symbol]]:
        way: list[_Symbol] = []
        last = 0
        at = 0
        while at < len(body):
            token = _TOKEN.match(body, at)
            if token is None:
                raise ValueError(f"nothing that both engines read, in {name}: {body[at:]!r}")
            at = token.end()
            if token["bar"]:
                yield way
                way = []
            elif token["times"]:
                way[last:] = [self._repeated(way[last:], token["times"])]
            elif not token["blank"]:
                last = len(way)
                way += self._symbols(token)
        yield way

    def _symbols(self, token: re.Match[str]) -> Iterator[_Symbol]:
        if token["id"]:
            yield _OneToken(int(token["id"]))
        elif token["name"]:
            yield token["name"]
        elif token["literal"]:
            yield from (
                _Class(((character, character),), False) for character, _ in _characters(token["literal"][1:-1])
            )
        else:
            but = token["class"].startswith("[^")
            yield _Class(tuple(_ranges(list(_characters(token["class"][1 + but : -1])))), but)

    def _repeated(self, part: list[_Symbol], times: str) -> str:
        bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(times) or _bounds(times)
        name = f"{times} {len(self.rules)}"
        least, most = bounds
        if most is None:
            self.rules[name] = [[*part, name], []]
        else:
            name = f"{times} {len(self.rules) + most - least}"
            for left in range(most - least + 1):
                more: list[list[_Symbol]] = [[*part, f"{name} {left - 1}"]] if left else []
                self.rules[f"{name} {left}"] = [*more, []]
            name = f"{name} {most - least}"
        if least:
            self.rules[f"{name} from {least}"] = [[*part * least, name]]
            name = f"{name} from {least}"
        return name


def _bounds(times: str) -> tuple[int, int | None]:
    least, comma, most = times[1:-1].partition(",")
    bounds = int(least), int(most) if most else None if comma else int(least)
    if max(bounds[0], bounds[1] or 0) > _LARGEST_COUNT or bounds[1] == 0:
        raise ValueError(f"no count for llama.cpp: {times}")
    return bounds


def _characters(text: str) -> Iterator[tuple[str, bool]]:
    """The characters of a literal or class, and whether each is literal."""
    at = 0
    while at < len(text):
        found = _CHARACTER.match(text, at)
        if found is None:
            raise ValueError(f"no character that both engines read: {text[at:]!r}")
        at = found.end()
        code = found[1] or found[2]
        yield (chr(int(code, 16)), False) if code else (_ESCAPED.get(found[3], found[3]) or found[4], bool(found[4]))


def _ranges(characters: list[tuple[str, bool]]) -> Iterator[tuple[str, str]]:
    if not characters:
        raise ValueError("a class of no character")
    at = 0
    while at < len(characters):
        first = characters[at][0]
        if characters[at + 1 : at + 2] == [("-", True)]:
            yield first, characters[at + 2][0]
            at += 3
        else:
            yield first, first
            at += 1
