"""A place in an output where a call in the syntax of another format may start, and the lookaheads that decide."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

from toolfmt.formats.engines.call_builder import CallBuilder, Committed
from toolfmt.formats.engines.declared_tools import Undeclared
from toolfmt.formats.format import COMMON_REASONING
from toolfmt.formats.markers import CODE
from toolfmt.formats.parser.syntaxes import Syntax
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.lookahead import LookaheadExceeded, look_ahead
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, Reading, Scan

A_CALL = "a call"
_LINE_ENDS = ("", "\r", "\n", "<")
_SPACES = re.compile(r"[ \t]*")
_REASONING_ENDS = literals(*(end for _, end in COMMON_REASONING))
"""A call before such a marker is part of a reasoning block whose start is missing."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call may start. Nothing is consumed by a lookahead."""

    scan: Scan
    calls: CallBuilder
    start: str
    """The literal that it starts with."""
    begin: int
    """The offset of the start."""
    here: int
    """The offset of the scanner: after a start marker, or at the start of a call without a frame."""

    def skip_to(self, syntax: Syntax) -> Reading[None]:
        """Go to where the engine begins to read. Raises `Malformed` if the call starts with another text."""
        scan, begin = self.scan, self.begin
        if begin + len(syntax.text) == self.here:
            return
        if begin < (scan.offset if scan.mark is None else min(scan.mark, scan.offset)):
            raise Malformed(expected=A_CALL)  # the text is not held
        scan.rewind(begin)
        if syntax.text:
            yield from scan.expect(syntax.text)

    def first_name(self, syntax: Syntax) -> Reading[tuple[str, int]]:
        """Return the name of the first call in a syntax, "" if there is none, and the length of the text up to it."""
        name, length = "", 0

        def read(view: Scan) -> Reading[str]:
            nonlocal length
            dry_run = self.calls.dry_run(view, "name")
            try:
                with suppress(Committed):
                    yield from syntax.engine.read(view, dry_run, syntax.opener)
            finally:
                length = view.position - self.begin
            is_program = self.start == CODE and "missing_brackets" in dry_run.tolerances
            return "" if is_program else dry_run.first_name

        with suppress(Malformed, LookaheadExceeded, Incomplete, Undeclared):
            yield from self.skip_to(syntax)
            name = yield from look_ahead(self.scan, read)
        self.scan.rewind(self.here)
        return name, length

    def cost(self, syntax: Syntax, most: int) -> Reading[tuple[int, int]]:
        """Return whether a syntax is malformed in the next characters, and the number of tolerances that it needs."""
        malformed, tolerances = 0, 0

        def read(view: Scan) -> Reading[None]:
            nonlocal tolerances
            dry_run = self.calls.dry_run(view)
            try:
                yield from syntax.engine.read(view, dry_run, syntax.opener)
            finally:
                tolerances = len(dry_run.tolerances)

        try:
            yield from self.skip_to(syntax)
            yield from look_ahead(self.scan, read, most)
        except (LookaheadExceeded, Incomplete):
            pass
        except (Malformed, Undeclared):
            malformed = 1
        self.scan.rewind(self.here)
        return malformed, tolerances

    def is_alone(self, syntax: Syntax, starts: Literals, *, ends_line: bool) -> Reading[bool]:
        """Whether nothing follows a call on its line, and no reasoning ends after it.

        If a name is the only evidence of a call, only calls and markers may follow in the output: between sentences,
        such a line is an example.

        A call that is longer than the lookahead counts as one. So does a malformed one in a frame, which is rejected.

        Args:
            syntax: The syntax of the call.
            starts: Everything that a call may start with.
            ends_line: Whether nothing may follow the call on its line.
        """
        dry_run = self.calls.dry_run(self.scan)

        def read(view: Scan) -> Reading[bool]:
            nonlocal dry_run
            dry_run = self.calls.dry_run(view)
            yield from syntax.engine.read(view, dry_run, syntax.opener)
            yield from view.take_while(_SPACES)
            if ends_line and (yield from view.peek()) not in _LINE_ENDS:
                return False
            yield from view.skip_spaces()
            if (yield from view.literal(_REASONING_ENDS)):
                return False
            if not syntax.alone and "missing_brackets" not in dry_run.tolerances:
                return True
            return (yield from view.peek()) in ("", "<") or bool((yield from view.literal(starts)))

        try:
            yield from self.skip_to(syntax)
            return (yield from look_ahead(self.scan, read))
        except (LookaheadExceeded, Incomplete):
            return True
        except (Malformed, Undeclared):
            return not ends_line or (bool(syntax.opener) and not syntax.alone and dry_run.committed)
        finally:
            self.scan.rewind(self.here)
