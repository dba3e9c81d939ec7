"""The named JSON engine: a header with the name, a separator, a JSON object of arguments.

Formats differ in what surrounds the name: a frame around all calls, a start marker of each call, and an id before the
name, after it or derived from it. The arguments are parsed like those of the JSON object engine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from toolfmt.formats.engines.call_builder import CallBuilder, Committed
from toolfmt.formats.engines.call_headers import NAME_ONLY, Identity
from toolfmt.formats.engines.engine import Inner
from toolfmt.formats.engines.frame import MIN_CONTROL_TOKEN, NAME, Frame, check_markers, close_frame, follows, read_name
from toolfmt.formats.engines.json_members import read_arguments, skip_surplus
from toolfmt.formats.engines.json_object import WORD_AFTER_CALL, read_fence
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD, LookaheadExceeded, look_ahead
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, Reading, Scan
from toolfmt.formats.values.json_style import AS_DUMPED, JsonStyle
from toolfmt.formats.values.layout import CallText, EachCall, JsonArguments, LaidOut
from toolfmt.formats.values.nodes import Node, row
from toolfmt.messages.rejections import one_of, shown

_FENCE = "```"
_LANGUAGE = re.compile(r"[a-z_]*")
"""The info string of a code fence."""
_BARE_KEY = re.compile(r"[\w.-]*")
_PUNCTUATION = tuple(":./+-")
"""Without a start marker, a word that ends with one of these is part of ordinary text, not a tool name."""


@dataclass(frozen=True, kw_only=True)
class NamedJson(LaidOut, Frame):
    """Calls with a header before a JSON object of arguments: `NAME\\n{…}`, `<start>NAME<separator>{…}<end>`.

    Args:
        opener: The start marker around all calls. Empty if each call has its own markers only.
        closer: The end marker around all calls.
        call_opener: The start marker of each call.
        separator: The delimiter between the header and the arguments.
        also_separators: Variants of the separator that the parser accepts.
        call_closer: The end marker of each call.
        lead: The literal before the header.
        also_lead: A variant of `lead` that the parser accepts.
        fence: The literals before and after the arguments, for example of a Markdown code fence.
        identity: How name and id make up the header.
        between: The literal between two calls.
        style: How the arguments are written.

    Raises:
        ValueError: A marker cannot be distinguished from the text next to it.
    """

    call_opener: str = ""
    separator: str
    also_separators: tuple[str, ...] = ()
    call_closer: str = ""
    lead: str = ""
    also_lead: str = ""
    fence: tuple[str, str] = ("", "")
    identity: Identity = NAME_ONLY
    between: str = ""
    style: JsonStyle = AS_DUMPED

    def __post_init__(self) -> None:
        check_markers(
            openers={"separator": self.separator, "fence": self.fence[0]},
            closers={"call_closer": self.call_closer, "fence": self.fence[1]},
        )
        marker = self.identity.marker.strip()
        if marker and self.separator.strip().startswith(marker):
            raise ValueError(f"separator is {self.separator!r:.80}, which starts with the marker of `identity`")
        if "\n" not in self.separator and not self.separator.strip() and not (self.opener or self.call_opener):
            raise ValueError(
                f"separator is {self.separator!r:.80}, but without a start marker ordinary text has it after words too"
            )
        if self.style.python:
            raise ValueError("style is Python's, but the arguments are JSON")

    @property
    def openers(self) -> tuple[str, ...]:
        own = (self.call_opener,) if self.call_opener else ()
        return (*super().openers, *own)

    @property
    def closers(self) -> tuple[str, ...]:
        own = (self.call_closer.strip(),) if self.call_closer.strip() else ()
        return super().closers or own

    @property
    def inner(self) -> Inner:
        closer = self.call_closer.strip()
        return Inner((self.call_opener,), (closer,) if closer else ()) if self.opener and self.call_opener else Inner()

    # --- writing

    @cached_property
    def layout(self) -> Node:
        header = row(self.lead, CallText(self.identity.write), self.separator)
        arguments = row(self.fence[0], JsonArguments(self.style), self.fence[1])
        call = row(self.call_opener, header, arguments, self.call_closer)
        return row(self.opener, EachCall(call, self.between), self.closer)

    # --- reading

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        framed = bool(opener) and opener in (self.opener, *self.also)
        if not framed and (self.opener if opener else self.name_at_start == "tolerated"):
            calls.record_tolerance("missing_opener")
        if framed and self.call_opener and not (yield from follows(scan, self.call_opener)):
            calls.record_tolerance("missing_opener")
        while True:
            yield from self._read_call(scan, calls, opener)
            if not (yield from self._begin_next_call(scan, calls, framed)):
                break
        if framed or self.opener:
            yield from close_frame(scan, calls, opener if framed else "", *super().closers)

    def _begin_next_call(self, scan: Scan, calls: CallBuilder, framed: bool) -> Reading[bool]:
        """Begin another call if one follows, consume its start marker, and return whether there is one.

        Outside of a frame another call counts only with its own start marker, and only after `between` or after a call
        with an end marker.
        """
        here, delimiter, found = scan.position, self.between.strip(), ""
        if delimiter and not self.start_only_openers:
            found = yield from follows(scan, delimiter)
        if self.call_opener:
            if not (framed or self.call_closer or found) or not (yield from follows(scan, self.call_opener)):
                scan.rewind(here)
                return False
        elif not framed or not (yield from self._call_follows(scan, calls)):
            scan.rewind(here)
            return False
        calls.begin_at(here)
        if delimiter and framed and not found:
            calls.record_tolerance("missing_separator")
        return True

    def _call_follows(self, scan: Scan, calls: CallBuilder) -> Reading[bool]:
        """Return whether a call without a start marker follows. Consume only the whitespace before it."""

        def read(view: Scan) -> Reading[None]:
            yield from self._read_call(view, calls.dry_run(view, "call"), self.opener)

        try:
            yield from look_ahead(scan, read)
        except Committed:
            yield from scan.skip_spaces()
            return True
        except (Malformed, Incomplete, LookaheadExceeded):
            return False
        return False

    def _read_call(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        """Parse one call, from after its start marker to after its end marker. `opener` is empty if it has none."""
        name, id = yield from self._header(scan, calls)
        if id is None and self.identity.always:
            calls.record_tolerance("missing_id")
        if not opener and name[-1:] in _PUNCTUATION:
            raise Malformed(expected="the name of a tool", at=calls.name_at)
        control_token = yield from self._separated(scan, calls, opener)
        fence = yield from self._fenced(scan, calls)
        if not control_token and not calls.committed:
            here = scan.position
            opening = yield from scan.expect("{", '"{', *(() if fence else ("```json", "```")))
            if opening == "{" and not opener:
                yield from self._require_member(scan)
            scan.rewind(here)
        begin = scan.position
        try:
            yield from read_arguments(scan, calls, name, id)
        except Malformed as wrong:
            if control_token and not calls.committed and (yield from self._closed_soon(scan, begin)):
                calls.commit()  # all control tokens of a call are present, so this is a malformed call, not content
            raise Malformed("invalid_arguments", wrong.expected, wrong.at) from None
        calls.end()
        yield from skip_surplus(scan, calls)
        if not opener and not fence and (yield from scan.begins(WORD_AFTER_CALL)) is not None:
            # The call is part of a sentence.
            calls.mark_rejected("malformed_syntax", "the end of the line after the call")
        if fence:
            closer = self.fence[1].strip() if fence == self._fence else _FENCE
            if not self._fence:
                calls.record_tolerance("markdown_fence")
            if closer and not (yield from follows(scan, closer)):
                calls.record_tolerance("missing_closer")
        elif self._fence:
            calls.record_tolerance("missing_fence")
        if self.call_closer.strip():
            # Any non-empty string as the start marker: a missing end marker is recorded as a tolerance.
            yield from close_frame(scan, calls, "opened", self.call_closer.strip())

    @cached_property
    def _fence(self) -> str:
        """The literal before the arguments, without whitespace."""
        return self.fence[0].strip()

    def _fenced(self, scan: Scan, calls: CallBuilder) -> Reading[str]:
        """Consume the fence before the arguments, with whitespace around it, and return it.

        It is the format's own fence or a Markdown code fence. Return an empty string if there is none.
        """
        own = self._fence
        if own and not own.startswith(_FENCE):
            found = yield from follows(scan, own)
            yield from scan.skip_spaces()
            return found or (yield from read_fence(scan))
        fence = yield from read_fence(scan)
        if not fence or not own:
            return fence
        own_language = own.removeprefix(_FENCE).strip()
        language = fence.removeprefix(_FENCE) + (yield from scan.take_while(_LANGUAGE))
        if own_language.startswith(language):
            yield from scan.need(f"'{own}'")  # the output may end within the fence's language
        if language not in ("", "json", own_language):
            raise Malformed(expected=shown(own))
        if language != own_language:
            calls.record_tolerance("repaired_markers")
        yield from scan.skip_spaces()
        return own

    def _closed_soon(self, scan: Scan, begin: int) -> Reading[bool]:
        """Return whether there is a brace at `begin` and the call's end marker soon after it. Consume nothing.

        Only an end marker that is a control token counts. The search is bounded, and ends at an empty line, because
        the text after that is held back until it is known whether it is content.
        """
        closer, wrong = self.call_closer.strip(), scan.position
        if len(closer) < MIN_CONTROL_TOKEN:
            return False
        scan.rewind(begin)
        found = (yield from scan.peek()) == "{" and (
            yield from scan.find_near(literals(closer, "\n\n"), MAX_LOOKAHEAD)
        ) == closer
        scan.rewind(wrong)
        return found

    def _separated(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[bool]:
        """Consume the separator after the header, and return whether it is a control token of a call with a start
        marker.

        If it is, malformed arguments of a declared tool reject the call. If not, text that does not start like
        arguments is content. A missing control token is tolerated before a brace, because detokenizers drop control
        tokens. Formats with `start_only_openers` address a message to the tool, so that nothing but its arguments may
        follow the separator: anything else rejects the call.
        """
        separators = (self.separator, *self.also_separators)
        delimiters = [separator.strip() for separator in separators if separator.strip()]
        spaces = yield from scan.spaces()
        if delimiters:
            delimiter = yield from scan.literal(literals(*delimiters))
            if delimiter:
                if opener and self.start_only_openers and (yield from scan.peek()) != "{":
                    calls.commit()
                return bool(opener) and len(delimiter) >= MIN_CONTROL_TOKEN
        if len(delimiters) == len(separators):
            if opener and len(delimiters[0]) >= MIN_CONTROL_TOKEN and (yield from scan.peek()) == "{":
                calls.record_tolerance("missing_separator")
                return False
            marker = self.identity.marker.strip()
            yield from scan.expect(*delimiters, *((marker,) if marker else ()))
            raise Malformed(expected=one_of(delimiters))
        elif "\n" not in spaces and not self._in_line:
            yield from scan.need("a line break after the name")
            raise Malformed(expected="a line break after the name")
        return False

    def _header(self, scan: Scan, calls: CallBuilder) -> Reading[tuple[str, str | None]]:
        """Parse the header up to the separator. Return the name and the id, which may be None."""
        # A short start marker, such as `>>>`, also occurs in ordinary text, where whitespace follows it.
        if not self.call_opener or len(self.call_opener) >= MIN_CONTROL_TOKEN or self.lead[:1].isspace():
            yield from scan.skip_spaces()
        leads = [lead.strip() for lead in (self.lead, self.also_lead) if lead.strip()]
        if leads:
            here = scan.position
            lead = yield from scan.literal(literals(*leads))
            yield from scan.skip_spaces()
            if lead and not (yield from self._word_follows(scan)):
                scan.rewind(here)  # the tool has the same name as the lead
                lead = ""
            if self.lead.strip() and not lead:
                calls.record_tolerance("missing_prefix")
        calls.name_at = scan.position
        first = yield from self._word(scan)
        if not first:
            yield from scan.need("the name of a tool")
            raise Malformed(expected="the name of a tool")
        second = ""
        if self.identity.marker:
            here = scan.position
            if (yield from follows(scan, self.identity.marker.strip())):
                yield from scan.skip_spaces()
                here = scan.position
                second = yield from self._word(scan)
                if not second:
                    calls.record_tolerance("empty_id")
            else:
                scan.rewind(here)
        name, id = self.identity.read(first, second)
        if second and name == second:
            calls.name_at = here
        return name, id

    @cached_property
    def _in_line(self) -> bool:
        """Whether only spaces, or nothing at all, separate the name from the arguments."""
        return not self.separator.strip() and "\n" not in self.separator

    @cached_property
    def _name_like_delimiters(self) -> tuple[tuple[str, str], ...]:
        """The delimiters after a word of the header that start with characters of a name, each with that start."""
        delimiters = dict.fromkeys((self.separator, *self.also_separators, self.identity.marker))
        starts = ((delimiter.strip(), NAME.match(delimiter)) for delimiter in delimiters)
        return tuple((delimiter, start[0]) for delimiter, start in starts if start and start[0])

    def _word(self, scan: Scan) -> Reading[str]:
        """Consume a name or an id and return it, without the start of a delimiter that follows it directly."""
        word = yield from read_name(scan)
        for delimiter, start in self._name_like_delimiters:
            if word.endswith(start) and word != start:
                end = scan.position
                scan.rewind(end - len(start))
                if (yield from scan.literal(literals(delimiter))):
                    scan.rewind(end - len(start))
                    return word.removesuffix(start)
                scan.rewind(end)
        return word

    def _require_member(self, scan: Scan) -> Reading[None]:
        """Raise `Malformed` unless a key, or the end of the object, follows the brace.

        A name without a start marker may be a word of source code, and the brace after it the start of a block.
        """
        yield from scan.skip_spaces()
        if (yield from scan.need("a key")) not in "\"'}":
            yield from scan.take_while(_BARE_KEY)
            yield from scan.skip_spaces()
            yield from scan.expect(":")

    def _word_follows(self, scan: Scan) -> Reading[bool]:
        """Return whether an unquoted name follows, without consuming it."""
        here = scan.position
        word = yield from read_name(scan)
        scan.rewind(here)
        return bool(word)
