"""The channels engine: the answer is a row of messages, each with a header that tells whom it is for.

A message whose recipient is a tool is a call; its body holds the arguments as a JSON object, or calls in the notation
of another engine. Messages for the user and for the model itself are content and reasoning: their headers are among
the format's ignored markers and its reasoning markers. The recipient stands before the channel or in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.engine import Call, Engine, TypesOf
from toolfmt.formats.engines.frame import Frame, follows, read_name
from toolfmt.formats.engines.json_members import read_arguments, read_arguments_after_start, skip_surplus
from toolfmt.formats.engines.json_object import read_fence
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD
from toolfmt.formats.scanner.scanner import BLANK_LINES, Malformed, Reading, Scan
from toolfmt.formats.values.value_reader import TooLong
from toolfmt.messages.rejections import one_of

_WORD = re.compile(r"[a-z_]*")
_WORDS = ("analysis", "commentary", "final", "json", "code")
"""Channels and types that a header may contain."""
_BLANKS = re.compile(r"[ \t\r\n\u00a0\u202f]*")


@dataclass(frozen=True, kw_only=True)
class Channels(Frame):
    """How a family addresses a message to a tool.

    The openers stand before the recipient, whose name may begin with `namespace`; `marks`, channels and types may stand
    in the header, and `message` ends it: where that is empty, the opener of the body does. `others`
    are recipients that are no tools. The writer puts `header` before the recipient, `channel` behind it, and `between`
    between two messages. With `body`, the calls stand in the notation of that engine, else the body is the JSON object
    of the arguments. Where an answer usually begins with a name, the prompt has written the opener.
    """

    header: str
    message: str
    namespace: str = ""
    marks: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    channel: str = ""
    between: str = ""
    body: Engine | None = None

    @property
    def _ends(self) -> tuple[str, ...]:
        """What ends a header."""
        return self.body.openers if self.body and not self.message else (self.message,)

    # --- writing

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        return self.between.join(self._message(call, types) + self.closer for call in calls)

    def _message(self, call: Call, types: TypesOf) -> str:
        name, arguments = call
        text = self.body.write([call], types) if self.body else json.dumps(dict(arguments), ensure_ascii=False)
        return f"{self.header}{self.namespace}{name}{self.channel}{self.message}{text}"

    # --- reading

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        if not opener.isascii():
            calls.record_tolerance("other_blanks")
        name = (yield from self._header(scan, calls)) if opener or self.name_at_start == "usual" else ""
        if self.body is not None:
            yield from scan.skip_spaces()
            opens_body = yield from scan.literal(literals(*self.body.openers))
            if not opens_body:
                expected = one_of(self.body.openers)
                yield from scan.need(expected)
                raise Malformed(expected=expected)
            if not opener and not name:
                calls.record_tolerance("missing_header")
            calls.addressed = name
            try:
                yield from self.body.read(scan, calls, opens_body)
            finally:
                calls.addressed = ""
        elif opener:
            yield from self._arguments(scan, calls, name)
        else:
            raise Malformed(expected=one_of(self.openers))
        if self.closers and not (yield from follows(scan, *self.closers)):
            here = scan.position
            yield from scan.skip_spaces()
            behind = yield from scan.peek()
            scan.rewind(here)
            calls.need_end()
            if behind and behind not in literals(*self.openers, *self.closers).first:
                calls.record_tolerance("missing_closer")  # neither does another message begin here

    def _header(self, scan: Scan, calls: CallBuilder) -> Reading[str]:
        """The recipient's name, and what stands behind it up to the body."""
        yield from _skip_blanks(scan, calls)
        here = scan.position
        recipient = yield from self._recipient(scan, calls)
        if not recipient:
            yield from scan.need("the name of a tool")
            raise Malformed(expected="the name of a tool")
        name = recipient.removeprefix(self.namespace)
        calls.name_at = here + len(recipient) - len(name)
        ends = self._ends
        while True:
            yield from _skip_blanks(scan, calls)
            mark = yield from scan.literal(literals(*ends, *self.marks))
            if mark in ends:
                scan.rewind(scan.position - (0 if self.message else len(mark)))
                break
            if not mark and (yield from scan.take_while(_WORD)) not in _WORDS:
                yield from scan.expect(*ends, *self.marks)
                raise Malformed(expected=one_of(ends))
        if recipient in self.others:
            raise Malformed(expected="the name of a tool", at=here)
        return name

    def _recipient(self, scan: Scan, calls: CallBuilder) -> Reading[str]:
        """The recipient; the name of a declared tool may have blanks in it."""
        if calls.spaced_names:
            here = scan.position
            if self.namespace:
                yield from scan.literal(literals(self.namespace))
            name = yield from scan.literal(literals(*calls.spaced_names))
            if name:
                return name
            scan.rewind(here)
        return (yield from read_name(scan))

    def _arguments(self, scan: Scan, calls: CallBuilder, name: str) -> Reading[None]:
        """The body of a message to a tool: an object is a call, with anything else one has gone wrong."""
        if (yield from read_fence(scan)):
            calls.record_tolerance("markdown_fence")
        here = scan.position
        if (yield from scan.literal(literals(*self.closers))):
            scan.rewind(here)
            calls.record_tolerance("missing_arguments")
            calls.start(name)
            calls.arguments("{}")
        else:
            try:
                if (yield from scan.peek()) == "{":
                    yield from read_arguments(scan, calls, name)
                else:
                    calls.start(name)
                    yield from read_arguments_after_start(scan, calls)
            except TooLong:
                raise
            except Malformed as wrong:
                if not calls.committed and (yield from self._closes(scan)):
                    calls.start(name)
                raise Malformed("invalid_arguments", wrong.expected, wrong.at) from None
        calls.end()
        yield from skip_surplus(scan, calls)
        yield from follows(scan, "```")

    def _closes(self, scan: Scan) -> Reading[bool]:
        """Whether the message is closed soon behind what is wrong here, unread."""
        here = scan.position
        found = yield from scan.find_near(literals(*self.closers, *BLANK_LINES), MAX_LOOKAHEAD)
        scan.rewind(here)
        return found in self.closers


def _skip_blanks(scan: Scan, calls: CallBuilder) -> Reading[None]:
    """Blanks in a header; models now and then write those that keep words together."""
    blanks = yield from scan.take_while(_BLANKS)
    if not blanks.isascii():
        calls.record_tolerance("other_blanks")
