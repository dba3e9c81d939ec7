"""The exception for a violated invariant, with a readable message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_SHOWN = 2_000
"""Maximum number of characters of an output in a message."""


class InvariantViolation(AssertionError):
    """A parser violates an invariant.

    `invariant` is its name (`toolfmt.testing.INVARIANTS`), and `kind` distinguishes bugs with the same invariant (`a
    string came as an integer`). `message` is the message. If known, `text` is the output, `pieces` are the chunks,
    `actual` is what the parser returned and `expected` what it should have returned, both as lines of a corpus case.
    `unusable` means that the parser could not be run, or that its result cannot be judged.
    """

    def __init__(
        self,
        invariant: str,
        kind: str,
        message: str = "",
        *,
        actual: Iterable[str] | None = None,
        expected: Iterable[str] | None = None,
        unusable: bool = False,
    ) -> None:
        self.invariant = invariant
        self.kind = kind
        self.message = message or kind
        self.text: str | None = None
        self.pieces: list[str] | None = None
        self.actual = None if actual is None else list(actual)
        self.expected = None if expected is None else list(expected)
        self.unusable = unusable
        super().__init__(invariant, kind)

    def about(
        self, text: str, pieces: Sequence[str] | None = None, actual: Iterable[str] | None = None
    ) -> InvariantViolation:
        """Return the same exception with the output that it is about."""
        self.text = text
        self.pieces = None if pieces is None or len(pieces) < 2 else list(pieces)
        if self.actual is None and actual is not None:
            self.actual = list(actual)
        return self

    def __str__(self) -> str:
        shown = [("output", None if self.text is None else [_short(self.text)])]
        shown.append(("pieces", None if self.pieces is None else [_short(self.pieces)]))
        shown += [("actual", self.actual), ("expected", self.expected)]
        lines = [f"{self.invariant}: {self.message}"]
        for title, values in shown:
            if values is not None:
                first, *rest = values or ["nothing"]
                lines += [f"  {title:<8} {first}", *(f"           {line}" for line in rest)]
        return "\n".join(lines)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…"
