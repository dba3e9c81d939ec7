"""A law that a parser has broken: one exception for all laws, told as a person needs it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_SHOWN = 2_000
"""Characters of an answer that a message shows."""


class LawBroken(AssertionError):
    """A parser has broken a law.

    `law` is its name (`toolfmt.testing.LAWS`), `kind` tells faults of one law apart (`a string came as an integer`),
    `said` is the sentence. Where they are known: `text` is the answer, `pieces` how it was fed, `came` what the parser
    said and `should` what it should have, both in the lines of a corpus case. `unusable`: the parser could not be asked
    at all, or what came is nothing that can be judged.
    """

    def __init__(
        self,
        law: str,
        kind: str,
        said: str = "",
        *,
        came: Iterable[str] | None = None,
        should: Iterable[str] | None = None,
        unusable: bool = False,
    ) -> None:
        self.law = law
        self.kind = kind
        self.said = said or kind
        self.text: str | None = None
        self.pieces: list[str] | None = None
        self.came = None if came is None else list(came)
        self.should = None if should is None else list(should)
        self.unusable = unusable
        super().__init__(law, kind)

    def about(self, text: str, pieces: Sequence[str] | None = None, came: Iterable[str] | None = None) -> LawBroken:
        """The same exception, which knows now of which answer it speaks."""
        self.text = text
        self.pieces = None if pieces is None or len(pieces) < 2 else list(pieces)
        if self.came is None and came is not None:
            self.came = list(came)
        return self

    def __str__(self) -> str:
        shown = [("answer", None if self.text is None else [_short(self.text)])]
        shown.append(("pieces", None if self.pieces is None else [_short(self.pieces)]))
        shown += [("came", self.came), ("should", self.should)]
        lines = [f"{self.law}: {self.said}"]
        for title, told in shown:
            if told is not None:
                first, *rest = told or ["nothing"]
                lines += [f"  {title:<7} {first}", *(f"          {line}" for line in rest)]
        return "\n".join(lines)


def _short(value: object) -> str:
    told = repr(value)
    return told if len(told) <= _MOST_SHOWN else told[:_MOST_SHOWN] + "…"
