"""The named JSON engine: a name, a separator, a JSON object of arguments.

What stands around the name differs: a frame around all calls, an opener of each call, an id before the name, behind it
or made of it. The arguments are read as the JSON object engine reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from toolfmt.formats.engines.call_builder import CallBuilder, Committed
from toolfmt.formats.engines.call_headers import NAME_ONLY, Identity
from toolfmt.formats.engines.engine import Call, Inner, TypesOf
from toolfmt.formats.engines.frame import NAME_SIGNS, Frame, check_markers, close_frame, follows, read_name
from toolfmt.formats.engines.json_members import read_arguments, read_behind
from toolfmt.formats.engines.json_object import PROSE, read_fence
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD, LookaheadExceeded, look_ahead
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, Reading, Scan
from toolfmt.formats.values.json_layout import AS_DUMPED, JsonStyle
from toolfmt.messages.rejections import one_of, shown

_FENCE = "```"
_LETTERS = re.compile(r"[a-z_]*")
_GLUED = re.compile(f"[{NAME_SIGNS}]*")
_KEY = re.compile(r"[\w.-]*")
_CONTROL = 4
"""A literal at least so long is a control token, which prose does not hold."""
_PUNCTUATION = tuple(":./+-")


@dataclass(frozen=True, kw_only=True)
class NamedJson(Frame):
    """How a family writes name and arguments.

    `call_opener` and `call_closer` stand around each call, `lead` before its header, `separator` behind that, `fence`
    around the arguments, which are spelt in a `style`; `also_lead` and `also_separators` are other spellings that are
    read. `opener` and `closer` frame all calls, where the family does that; `between` is what stands between two calls.
    Raises `ValueError` for markers that cannot be told from what they mark.
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

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        written = self.between.join(self._call(name, arguments, at) for at, (name, arguments) in enumerate(calls))
        return self.opener + written + self.closer

    def _call(self, name: str, arguments: Mapping[str, Any], at: int) -> str:
        text = self.style(dict(arguments))
        header = self.lead + self.identity.write(name, at) + self.separator
        return self.call_opener + header + self.fence[0] + text + self.fence[1] + self.call_closer

    # --- reading

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        framed = bool(opener) and opener in (self.opener, *self.also)
        if not framed and (self.opener if opener else self.name_at_start == "tolerated"):
            calls.record_tolerance("missing_opener")
        if framed and self.call_opener and not (yield from follows(scan, self.call_opener)):
            calls.record_tolerance("missing_opener")
        while True:
            yield from self._read_call(scan, calls, opener)
            if not (yield from self._another(scan, calls, framed)):
                break
        if framed or self.opener:
            yield from close_frame(scan, calls, opener if framed else "", *super().closers)

    def _another(self, scan: Scan, calls: CallBuilder, framed: bool) -> Reading[bool]:
        """Whether another call of the frame, or right behind one that is closed, stands here; what opens it is read."""
        here, sign, found = scan.position, self.between.strip(), ""
        if sign and not self.start_only_openers:
            found = yield from follows(scan, sign)
        if self.call_opener:
            if not (framed or self.call_closer or found) or not (yield from follows(scan, self.call_opener)):
                scan.rewind(here)
                return False
        elif not framed or not (yield from self._named_here(scan, calls)):
            scan.rewind(here)
            return False
        calls.begin_at(here)
        if sign and framed and not found:
            calls.record_tolerance("missing_separator")
        return True

    def _named_here(self, scan: Scan, calls: CallBuilder) -> Reading[bool]:
        """Whether a call that nothing opens stands here, unread."""

        def begins(view: Scan) -> Reading[None]:
            yield from self._read_call(view, calls.dry_run(view, "call"), self.opener)

        try:
            yield from look_ahead(scan, begins)
        except Committed:
            yield from scan.skip_spaces()
            return True
        except (Malformed, Incomplete, LookaheadExceeded):
            return False
        return False

    def _read_call(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        """One call, from after its opener to after its closer."""
        name, id = yield from self._header(scan, calls)
        if id is None and self.identity.always:
            calls.record_tolerance("missing_id")
        if not opener and name[-1:] in _PUNCTUATION:
            raise Malformed(expected="the name of a tool", at=calls.name_at)
        separated = yield from self._separated(scan, calls, opener)
        fence = yield from self._fenced(scan, calls)
        if not separated and not calls.committed:
            here = scan.position
            opening = yield from scan.expect("{", '"{', *(() if fence else ("```json", "```")))
            if opening == "{" and not opener:
                yield from self._member_follows(scan)
            scan.rewind(here)
        begin = scan.position
        try:
            yield from read_arguments(scan, calls, name, id)
        except Malformed as wrong:
            if separated and not calls.committed and (yield from self._closed_soon(scan, begin)):
                calls.commit()  # all of its control tokens stand there: it was meant as a call
            raise Malformed("invalid_arguments", wrong.expected, wrong.at) from None
        calls.end()
        yield from read_behind(scan, calls)
        if not opener and not fence and (yield from scan.begins(PROSE)) is not None:
            calls.mark_rejected(
                "malformed_syntax", "the end of the line after the call"
            )  # a sentence that has a call in it
        if fence:
            closer = self.fence[1].strip() if fence == self._fence else _FENCE
            if not self._fence:
                calls.record_tolerance("markdown_fence")
            if closer and not (yield from follows(scan, closer)):
                calls.record_tolerance("missing_closer")
        elif self._fence:
            calls.record_tolerance("missing_fence")
        if self.call_closer.strip():
            yield from close_frame(scan, calls, "opened", self.call_closer.strip())

    @cached_property
    def _fence(self) -> str:
        return self.fence[0].strip()

    def _fenced(self, scan: Scan, calls: CallBuilder) -> Reading[str]:
        """What stands around the arguments, its opening read with the blanks around it: the family's, or markdown's."""
        own = self._fence
        if own and not own.startswith(_FENCE):
            found = yield from follows(scan, own)
            yield from scan.skip_spaces()
            return found or (yield from read_fence(scan))
        fence = yield from read_fence(scan)
        if not fence or not own:
            return fence
        wanted = own.removeprefix(_FENCE).strip()
        word = fence.removeprefix(_FENCE) + (yield from scan.take_while(_LETTERS))
        if wanted.startswith(word):
            yield from scan.need(f"'{own}'")  # the answer may end within the fence's word
        if word not in ("", "json", wanted):
            raise Malformed(expected=shown(own))
        if word != wanted:
            calls.record_tolerance("repaired_markers")
        yield from scan.skip_spaces()
        return own

    def _closed_soon(self, scan: Scan, begin: int) -> Reading[bool]:
        """Whether a control token closes the call behind the brace that stands at `begin`; nothing is read."""
        closer, wrong = self.call_closer.strip(), scan.position
        if len(closer) < _CONTROL:
            return False
        scan.rewind(begin)
        found = (yield from scan.peek()) == "{" and (
            yield from scan.find_near(literals(closer, "\n\n"), MAX_LOOKAHEAD)
        ) == closer
        scan.rewind(wrong)
        return found

    def _separated(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[bool]:
        """What stands behind the header. Detokenizers may have dropped a control token there.

        True where it stands: the arguments of a declared tool must follow then, and in a message nothing else may.
        """
        separators = (self.separator, *self.also_separators)
        signs = [separator.strip() for separator in separators if separator.strip()]
        spaces = yield from scan.spaces()
        if signs:
            sign = yield from scan.literal(literals(*signs))
            if sign:
                if opener and self.start_only_openers and (yield from scan.peek()) != "{":
                    calls.commit()
                return bool(opener) and len(sign) >= _CONTROL
        if len(signs) == len(separators):
            if opener and len(signs[0]) >= _CONTROL and (yield from scan.peek()) == "{":
                calls.record_tolerance("missing_separator")
                return False
            marker = self.identity.marker.strip()
            yield from scan.expect(*signs, *((marker,) if marker else ()))
            raise Malformed(expected=one_of(signs))
        elif "\n" not in spaces and not self._in_line:
            yield from scan.need("a line break after the name")
            raise Malformed(expected="a line break after the name")
        return False

    def _header(self, scan: Scan, calls: CallBuilder) -> Reading[tuple[str, str | None]]:
        """Name and id, up to the separator."""
        if not self.call_opener or len(self.call_opener) >= _CONTROL or self.lead[:1].isspace():
            yield from scan.skip_spaces()
        leads = [lead.strip() for lead in (self.lead, self.also_lead) if lead.strip()]
        if leads:
            here = scan.position
            led = yield from scan.literal(literals(*leads))
            yield from scan.skip_spaces()
            if led and not (yield from self._word_follows(scan)):
                scan.rewind(here)  # a tool that is called like the lead
                led = ""
            if self.lead.strip() and not led:
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
        """Whether nothing but a blank, or nothing at all, stands between name and arguments."""
        return not self.separator.strip() and "\n" not in self.separator

    @cached_property
    def _touching(self) -> tuple[tuple[str, str], ...]:
        """What stands right behind a word of the header and begins as words go on, and that beginning."""
        signs = dict.fromkeys((self.separator, *self.also_separators, self.identity.marker))
        glued = ((sign.strip(), _GLUED.match(sign)) for sign in signs)
        return tuple((sign, found[0]) for sign, found in glued if found and found[0])

    def _word(self, scan: Scan) -> Reading[str]:
        """A name or an id: what stands right behind it may begin as if it went on."""
        word = yield from read_name(scan)
        for sign, glued in self._touching:
            if word.endswith(glued) and word != glued:
                end = scan.position
                scan.rewind(end - len(glued))
                if (yield from scan.literal(literals(sign))):
                    scan.rewind(end - len(glued))
                    return word.removesuffix(glued)
                scan.rewind(end)
        return word

    def _member_follows(self, scan: Scan) -> Reading[None]:
        """A name without an opener may be a word of code, and the brace behind it open a block of that."""
        yield from scan.skip_spaces()
        if (yield from scan.need("a key")) not in "\"'}":
            yield from scan.take_while(_KEY)
            yield from scan.skip_spaces()
            yield from scan.expect(":")

    def _word_follows(self, scan: Scan) -> Reading[bool]:
        here = scan.position
        word = yield from read_name(scan)
        scan.rewind(here)
        return bool(word)
