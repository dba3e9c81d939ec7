"""A reader for JSON without deviations: a push-down machine with one regular expression per state.

It is a span: the fast path can pass over chunks inside a string, and `Scan.stream` drives it otherwise. It ends after
the value, or before the first token that is not clean JSON. Then `read_value` continues from its state and applies the
tolerances. So this module contains no tolerance.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from toolfmt.formats.scanner.literals import MayEnd

DEEPEST = 256
"""Maximum nesting of a value. Python's own JSON reader fails at a depth of about a thousand."""

LONGEST_KEY = 400
"""Maximum number of characters of a key of an object."""

_SPACE = r"[ \t\r\n]*+"
_PLAIN_CHARACTERS = r'[^"\\\x00-\x1f]'
_VALUE = re.compile(
    _SPACE + r'(?:(")|([{\[])'
    r"|(?:-?(?:0|[1-9][0-9]{0,400}+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null)(?=[\s,\]}]))"
)
_CLOSE = re.compile(_SPACE + r"([\]}])")
_KEY = _SPACE + rf'"([^"\\\x00-\x1f\ud800-\udfff]{{0,{LONGEST_KEY}}}+)"' + _SPACE + ":"
_STRING_PATTERN = rf'{_PLAIN_CHARACTERS}*+(?>(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){_PLAIN_CHARACTERS}*+)*)'
_STRING = re.compile(_STRING_PATTERN)
_WITH_STRING = rf'({_SPACE}"{_STRING_PATTERN}")?'
_MEMBER = re.compile(_KEY + _WITH_STRING)
_NEXT_MEMBER = re.compile(_SPACE + "," + _KEY + _WITH_STRING)
_COMMA = re.compile(_SPACE + "," + _SPACE + r"(?=[^\s\]}])")
_PARTIAL_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_PARTIAL_TOKEN = re.compile(
    _SPACE + rf'(?:,[ \t\r\n]*+)?(?:"{_PLAIN_CHARACTERS}{{0,{LONGEST_KEY}}}+(?:"[ \t\r\n]*+)?'
    r"|[-+.0-9eEtrufalsn]{1,400}+)?\Z"
)
"""A token that may become clean JSON with more text."""

_IN_STRING: MayEnd = re.compile(r'["\\\x00-\x1f]').search
_ANYWHERE: MayEnd = re.compile("").search

VALUE, KEY, AFTER, STRING, DONE = range(5)
"""The states: before a value, before a key, after a value, inside a string, after the whole value."""


class CleanJson:
    """One JSON value, as a span that ends where the value ends or stops being clean.

    The state is `state`, `closers` (the closing brackets of the open lists and objects, outermost first) and `keys`
    (for each of them, its keys so far). At the end of the span, `final` has these three instead: the fast path may read
    a chunk that ends the span, and then the same chunk is read again.
    """

    __slots__ = (
        "_after_opening",
        "before",
        "beginning",
        "closers",
        "encode",
        "final",
        "keys",
        "may_end",
        "state",
        "trigger",
    )

    def __init__(self) -> None:
        self.state = VALUE
        self.closers: list[str] = []
        self.keys: list[set[str]] = []
        self.final: tuple[int, list[str], list[set[str]]] | None = None
        self._after_opening = False
        """Whether the last token opened a list or an object, which may then close at once."""
        self.may_end: MayEnd = _ANYWHERE
        self.trigger = self.before = ""
        self.beginning: Callable[[re.Match[str]], int | None] | None = None
        self.encode: Callable[[str], str] | None = None

    def read(self, text: str, at: int, closed: bool) -> tuple[str, int, bool]:
        """Return the clean text from `at`, where it ends, and whether the span ends there."""
        begin, state, after_opening = at, self.state, self._after_opening
        closers, keys = self.closers[:], self.keys[:]
        added: list[tuple[set[str], str]] = []
        clean = True
        while True:
            if state == STRING:
                at = _STRING.match(text, at).end()  # type: ignore[union-attr]  # it matches anything
                if at == len(text) or (text[at] == "\\" and _PARTIAL_ESCAPE.match(text, at)):
                    break
                if text[at] != '"':
                    clean = False
                    break
                at, state = at + 1, AFTER
            elif state == AFTER and not closers:
                state = DONE
                break
            elif (
                (after_opening or (state == AFTER and text[at : at + 1] != ","))
                and (found := _CLOSE.match(text, at)) is not None
                and found[1] == closers[-1]
            ):
                at, state, after_opening = found.end(), AFTER, False
                closers.pop()
                keys.pop()
            elif state == AFTER and closers[-1] == "]":
                if (found := _COMMA.match(text, at)) is None:
                    clean = _may_become_clean(text, at)
                    break
                at, state = found.end(), VALUE
            elif state != VALUE:
                found = (_MEMBER if state == KEY else _NEXT_MEMBER).match(text, at)
                if found is None or found[1] in keys[-1]:
                    clean = found is None and _may_become_clean(text, at)
                    break
                keys[-1].add(found[1])
                added.append((keys[-1], found[1]))
                at, state, after_opening = found.end(), AFTER if found[2] else VALUE, False
            else:
                found = _VALUE.match(text, at)
                if found is None or (found[2] and len(closers) == DEEPEST):
                    clean = found is None and _may_become_clean(text, at)
                    break
                at, after_opening = found.end(), bool(found[2])
                if found[2]:
                    closers.append("}" if found[2] == "{" else "]")
                    keys.append(set())
                    state = KEY if found[2] == "{" else VALUE
                else:
                    state = STRING if found[1] else AFTER
        if state == DONE or not clean:
            self.final = state, closers, [set(one) for one in keys]
            for one, key in added:
                one.discard(key)
            return text[begin:at], at, True
        self.state, self._after_opening, self.closers, self.keys = state, after_opening, closers, keys
        self.may_end = _IN_STRING if state == STRING else _ANYWHERE
        return text[begin:at], at, False


def _may_become_clean(text: str, at: int) -> bool:
    """Whether more text may complete the token that begins here."""
    return _PARTIAL_TOKEN.match(text, at) is not None
