"""Find where a template accesses objects: `message.content`, `tool['function']['arguments']`.

Fixes are based on these. An access is identified by its last key; a name assigned from one counts as the same access.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from toolfmt.inspect.checks.editing.source import Word

_OPENERS, _CLOSERS = ("(", "[", "{"), (")", "]", "}")
_KEYWORDS = frozenset(["and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None"])
_BEGINS = ("variable_begin", "block_begin")
_ENDS = ("variable_end", "block_end")


@dataclass(frozen=True)
class Access:
    """An expression from word index `first` to `last` (exclusive) whose last lookup is `key`; `text` is its source.

    The key of a plain name is the name.
    """

    first: int
    last: int
    start: int
    end: int
    key: str
    text: str
    plain: bool


class Sites:
    """The accesses of a template, and its words."""

    def __init__(self, source: str, words: list[Word]) -> None:
        self.source = source
        self.words = words
        self.accesses = [access for first in range(len(words)) if (access := self._access(first)) is not None]

    def of(self, *keys: str) -> list[Access]:
        """Return the accesses whose last lookup is one of these keys, and names assigned from exactly one."""
        names = {name for access in self._looking_up(keys) if (name := self.assigned(access))}
        return [*self._looking_up(keys), *(one for one in self.accesses if one.plain and self._refers_to(one, names))]

    def _looking_up(self, keys: Collection[str]) -> Iterator[Access]:
        return (access for access in self.accesses if access.key in keys and not access.plain)

    def _refers_to(self, access: Access, names: Collection[str]) -> bool:
        return access.key in names and not self.is_assigned(access)

    def assigned(self, access: Access) -> str:
        """Return the name that a `set` assigns exactly this access to, or an empty string."""
        before = self.words[max(0, access.first - 3) : access.first]
        is_set = len(before) == 3 and before[0].is_one("set") and before[2].is_one("=")
        return before[1].text if is_set and self.after(access).kind == "block_end" else ""

    def is_assigned(self, access: Access) -> bool:
        """Return whether the access is assigned: `set x =`, a keyword argument, or the target of a loop."""
        return self.before(access).is_one("set", "for") or self.after(access).is_one("=")

    def before(self, access: Access) -> Word:
        """Return the word before."""
        return self.words[access.first - 1] if access.first else _NOTHING

    def after(self, access: Access, more: int = 0) -> Word:
        """Return the word after it, or `more` words further."""
        return self.words[access.last + more] if access.last + more < len(self.words) else _NOTHING

    def is_tested(self, access: Access) -> bool:
        """Return whether the access is only tested: `is none`, `== ''`, or as a condition."""
        before, after = self.before(access), self.after(access)
        if after.is_one("is", "==", "!="):
            return True
        in_test = before.is_one("if", "elif", "and", "or", "not")
        return in_test and (after.kind in _ENDS or after.is_one("and", "or", "else", ")"))

    def is_standalone(self, first: int, last: int) -> bool:
        """Return whether an expression needs no parentheses: it is all of a print or assignment, or an argument."""
        before = self.words[first - 1] if first else _NOTHING
        after = self.words[last] if last < len(self.words) else _NOTHING
        opened = before.kind in _BEGINS or before.is_one("(", ",", "=")
        return opened and (after.kind in _ENDS or after.is_one(")", ","))

    def filtered(self, access: Access, name: str) -> int:
        """Return the index of the word after `| name(…)` if this filter directly follows, else 0."""
        if not self.is_filter(access.last, name):
            return 0
        end = access.last + 2
        return self.closed(end) if end < len(self.words) and self.words[end].is_one("(") else end

    def is_filter(self, at: int, name: str) -> bool:
        """Return whether `| name` starts at this word."""
        return [word.text for word in self.words[at : at + 2]] == ["|", name]

    def text(self, first: int, last: int) -> str:
        """Return the source from one word to another (exclusive)."""
        return self.source[self.words[first].start : self.words[last - 1].end]

    def closed(self, opener: int) -> int:
        """Return the index of the word after the closing bracket."""
        depth = 0
        for at in range(opener, len(self.words)):
            depth += self.words[at].is_one(*_OPENERS) - self.words[at].is_one(*_CLOSERS)
            if depth == 0:
                return at + 1
        return len(self.words)

    # --- reading

    def _access(self, first: int) -> Access | None:
        word = self.words[first]
        before = self.words[first - 1] if first else _NOTHING
        if word.kind != "name" or word.text in _KEYWORDS or before.is_one(".", "|") or before.kind == "block_begin":
            return None
        if before.is_one("is") or (before.is_one("not") and first > 1 and self.words[first - 2].is_one("is")):
            return None  # the name of a test
        last, key, plain = first + 1, word.text, True
        while (step := self._step(last)) is not None:
            (last, key), plain = step, False
        return Access(first, last, word.start, self.words[last - 1].end, key, self.text(first, last), plain)

    def _step(self, at: int) -> tuple[int, str] | None:
        """Return the end and the key of the lookup that starts at this word, or None.

        A method call is not a lookup, except `get('key')`.
        """
        rest = self.words[at : at + 5]
        if len(rest) > 2 and rest[0].is_one(".") and rest[1].kind in ("name", "integer"):
            if not rest[2].is_one("("):
                return at + 2, rest[1].text
            key = rest[3].string if len(rest) > 4 else None
            return (self.closed(at + 2), key) if rest[1].is_one("get") and key is not None else None
        if len(rest) > 2 and rest[0].is_one("["):
            end = self.closed(at)
            return end, (rest[1].string or rest[1].text) if end == at + 3 else ""
        return None


_NOTHING = Word("nothing", "", 0, 0)
