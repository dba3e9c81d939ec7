"""The JSON text of the open call's arguments: what was emitted, what is not emitted yet, and the value that is held.

A key that appears twice in an object is emitted once. Its second value is held, and compared with the first one. For
that, the emitted text is kept until the call ends, like the text that was parsed.
"""

from __future__ import annotations

from typing import NamedTuple

from toolfmt.formats.scanner.spans import quoted
from toolfmt.formats.values.repeated_keys import compare_repeated, one_more_repeated
from toolfmt.messages.events import Event, RejectionReason, ToolCallArguments


class _Held(NamedTuple):
    """A repeated key, whose second value is not emitted."""

    key: str
    at: int
    fragments: list[str]
    """The fragments of the arguments or of the held value before it."""


class ArgumentsText:
    """The text of the arguments, as a part of `CallBuilder`."""

    index = -1
    emitting = False
    """Whether the arguments are emitted: the call has started and is not rejected."""
    withheld = False
    """Whether nothing of the open call is emitted before its end, because it may repeat an earlier one."""
    _repeated = 0
    """Number of repeated keys in the open call."""
    _held: tuple[_Held, ...] = ()

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.fragments: list[str] = []
        """The arguments, or the held value, since the last event."""
        self._emitted: list[str] = []
        """The arguments of the open call that were emitted."""

    def arguments(self, fragment: str) -> None:
        """Add JSON text to the arguments."""
        raise NotImplementedError

    def record_tolerance(self, name: str, at: int | None = None) -> None:
        """Note that a tolerance was applied."""
        raise NotImplementedError

    def mark_rejected(
        self, reason: RejectionReason, expected: str, at: int | None = None, *, problem: str = ""
    ) -> None:
        """Reject the call at its end."""
        raise NotImplementedError

    def member(self, key: str, keys: set[str], at: int) -> bool:
        """Emit a key of the innermost open object, and add it to those of the object so far.

        Args:
            key: The key.
            keys: The keys before it.
            at: Its offset.

        Returns:
            Whether the key is repeated. Then it is not emitted, the value is held, and `end_repeated` must follow.
        """
        if key not in keys:
            self.arguments(f"{', ' if keys else ''}{quoted(key)}: ")
            keys.add(key)
            return False
        self.count_repeated()
        self.flush()
        self._held = (*self._held, _Held(key, at, self.fragments))
        self.fragments = []
        return True

    def end_repeated(self) -> None:
        """Drop the value of a repeated key, which has been parsed. If it is not the same again, reject the call."""
        *outer, held = self._held
        self._held = tuple(outer)
        value, self.fragments = "".join(self.fragments), held.fragments
        compare_repeated(self, held.key, value, held.at)

    def so_far(self) -> str | None:
        """Return the arguments so far, or the held value, as JSON text; None if they are not emitted."""
        if not self.emitting:
            return None
        return "".join(self.fragments if self._held else (*self._emitted, *self.fragments))

    def count_repeated(self) -> None:
        """Count another repeated key. Raises `Malformed` if there are too many."""
        self._repeated = one_more_repeated(self._repeated)

    def _begin_arguments(self) -> None:
        """Begin the arguments of another call."""
        self._emitted = []
        if self._repeated:
            self._repeated = 0
        if self._held or self.withheld:
            self._held, self.fragments, self.withheld = (), [], False

    def flush(self) -> None:
        """Emit the arguments since the last event as one event. A held value is not emitted."""
        if self.fragments and not (self._held or self.withheld):
            said = "".join(self.fragments)
            if said:
                self.events.append(ToolCallArguments(self.index, said))
                self._emitted.append(said)
            self.fragments = []
