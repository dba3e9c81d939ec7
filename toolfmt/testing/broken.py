"""The exception for a violated invariant, with a readable message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_SHOWN = 2_000
"""Maximum number of characters of an output in a message."""


class LawBroken(AssertionError):
    """A parser violates an invariant.

    `law` is its name (`toolfmt.testing.LAWS`), and `kind` distinguishes bugs with the same invariant (`a string came as
    an integer`). `said` is the message. If known, `text` is the output, `pieces` are the chunks, `came` is what the
    parser returned and `should` what it should have returned, both as lines of a corpus case. `unusable` means that the
    parser could not be run, or that its result cannot be judged.
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
        """Return the same exception with the output that it is about."""
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
