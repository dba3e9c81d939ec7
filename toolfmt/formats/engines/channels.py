"""The channels engine: the output is a sequence of messages, each with a recipient in its header.

A message whose recipient is a tool is a call. Its body contains the arguments as a JSON object, or calls in the syntax
of another engine. Messages to the user and to the model itself are content and reasoning: the format lists their
headers as ignored markers and as reasoning markers. The recipient precedes the channel or is part of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.frame import Frame, follows, read_name
from toolfmt.formats.engines.json_members import read_arguments, read_arguments_after_start, skip_surplus
from toolfmt.formats.engines.json_object import read_fence
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD
from toolfmt.formats.scanner.scanner import BLANK_LINES, Malformed, Reading, Scan
from toolfmt.formats.values.json_style import AS_DUMPED
from toolfmt.formats.values.layout import TOOL_NAME, EachCall, InnerCalls, JsonArguments, LaidOut, layout_of
from toolfmt.formats.values.nodes import Node, row
from toolfmt.formats.values.value_reader import TooLong
from toolfmt.messages.rejections import one_of

_HEADER_WORD = re.compile(r"[a-z_]*")
_HEADER_WORDS = ("analysis", "commentary", "final", "json", "code")
"""Channels and types that a header may contain."""
_WHITESPACE = re.compile(r"[ \t\r\n\u00a0\u202f]*")


@dataclass(frozen=True, kw_only=True)
class Channels(LaidOut, Frame):
    """Messages to a tool: a start marker, the recipient, the rest of the header, and a body.

    If `name_at_start` is `usual`, the prompt ends with the start marker, so the output starts with the recipient.

    Args:
        header: The text before the recipient. Only the writer uses it; the parser uses the start markers.
        message: The marker that ends the header. If it is empty, the start marker of the body ends it.
        namespace: A prefix of the recipient that is not part of the tool's name. It may be missing.
        marks: Markers that the header may contain after the recipient.
        others: Recipients that are not tools.
        channel: The text after the recipient. Only the writer uses it.
        between: The text between two messages. Only the writer uses it.
        body: The engine that parses the body. None if the body is the JSON object of the arguments.
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
    def _header_ends(self) -> tuple[str, ...]:
        """The markers that end a header."""
        return self.body.openers if self.body and not self.message else (self.message,)

    # --- writing

    @cached_property
    def layout(self) -> Node:
        body = InnerCalls(layout_of(self.body)) if self.body else JsonArguments(AS_DUMPED)
        call = row(self.header, self.namespace, TOOL_NAME, self.channel, self.message, body, self.closer)
        return EachCall(call, self.between)

    # --- reading

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        if not opener.isascii():
            calls.record_tolerance("other_blanks")
        name = (yield from self._header(scan, calls)) if opener or self.name_at_start == "usual" else ""
        if self.body is not None:
            yield from scan.skip_spaces()
            body_opener = yield from scan.literal(literals(*self.body.openers))
            if not body_opener:
                expected = one_of(self.body.openers)
                yield from scan.need(expected)
                raise Malformed(expected=expected)
            if not opener and not name:
                calls.record_tolerance("missing_header")
            calls.addressed = name
            try:
                yield from self.body.read(scan, calls, body_opener)
            finally:
                calls.addressed = ""
        elif opener:
            yield from self._arguments(scan, calls, name)
        else:
            raise Malformed(expected=one_of(self.openers))
        if self.closers and not (yield from follows(scan, *self.closers)):
            here = scan.position
            yield from scan.skip_spaces()
            following = yield from scan.peek()
            scan.rewind(here)
            if self.body is None:  # otherwise the body ends the call
                calls.need_end()
            # The end marker is a stop token, which the output often omits: at its end, and before another message.
            if following and following not in literals(*self.openers, *self.closers).first:
                calls.record_tolerance("missing_closer")

    def _header(self, scan: Scan, calls: CallBuilder) -> Reading[str]:
        """Consume the header up to the body and return the recipient's name without the namespace."""
        yield from _skip_whitespace(scan, calls)
        here = scan.position
        recipient = yield from self._recipient(scan, calls)
        if not recipient:
            yield from scan.need("the name of a tool")
            raise Malformed(expected="the name of a tool")
        name = recipient.removeprefix(self.namespace)
        calls.name_at = here + len(recipient) - len(name)
        ends = self._header_ends
        while True:
            yield from _skip_whitespace(scan, calls)
            mark = yield from scan.literal(literals(*ends, *self.marks))
            if mark in ends:
                scan.rewind(scan.position - (0 if self.message else len(mark)))
                break
            if not mark and (yield from scan.take_while(_HEADER_WORD)) not in _HEADER_WORDS:
                yield from scan.expect(*ends, *self.marks)
                raise Malformed(expected=one_of(ends))
        if recipient in self.others:
            raise Malformed(expected="the name of a tool", at=here)
        return name

    def _recipient(self, scan: Scan, calls: CallBuilder) -> Reading[str]:
        """Consume the recipient and return it; empty if there is none. A declared name may contain spaces."""
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
        """Parse the body of a message to a tool. The arguments are an object; anything else is a malformed call."""
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
                if not calls.committed and (yield from self._end_marker_near(scan)):
                    calls.start(name)  # a complete message to a tool is a malformed call, not content
                raise Malformed("invalid_arguments", wrong.expected, wrong.at) from None
        calls.end()
        yield from skip_surplus(scan, calls)
        yield from follows(scan, "```")

    def _end_marker_near(self, scan: Scan) -> Reading[bool]:
        """Return whether the message's end marker follows soon after an error, before an empty line. Consume nothing.

        The search is bounded, because the text is held back until it is known whether it is content.
        """
        here = scan.position
        found = yield from scan.find_near(literals(*self.closers, *BLANK_LINES), MAX_LOOKAHEAD)
        scan.rewind(here)
        return found in self.closers


def _skip_whitespace(scan: Scan, calls: CallBuilder) -> Reading[None]:
    """Consume whitespace in a header. Models sometimes write non-breaking spaces there, which is a tolerance."""
    spaces = yield from scan.take_while(_WHITESPACE)
    if not spaces.isascii():
        calls.record_tolerance("other_blanks")
