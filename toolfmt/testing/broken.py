"""The exception for a violated invariant, with a readable message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_SHOWN = 2_000
"""Maximum number of characters of an output in a message."""


class InvariantViolation(AssertionError):
    """A parser violates an invariant.

    Args:
        invariant: The name of the invariant (`toolfmt.testing.INVARIANTS`).
        kind: Distinguishes bugs with the same invariant (`a string came as an integer`).
        message: The message. The default is `kind`.
        actual: What the parser returned, as lines of a corpus case.
        expected: What it should have returned, as lines of a corpus case.
        unusable: The parser could not be run, or its result cannot be judged.

    Attributes:
        invariant (str): The name of the invariant.
        kind (str): Distinguishes bugs with the same invariant.
        message (str): The message.
        text: The output, if known.
        pieces: The chunks of the output, if known.
        actual (list[str] | None): What the parser returned, if known.
        expected (list[str] | None): What it should have returned, if known.
        unusable (bool): Whether the parser could not be run, or its result cannot be judged.
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
        """Return the same exception with the output that it is about.

        Args:
            text: The output.
            pieces: The chunks of the output.
            actual: What the parser returned, used if it is not known yet.
        """
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
