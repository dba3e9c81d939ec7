"""The named JSON engine: a name, a separator, a JSON object of arguments.

What stands around the name differs: a frame around all calls, an opener of each call, an id before the name, behind it
or made of it. The arguments are read as the JSON object engine reads them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from toolfmt.formats.ahead import FAR
from toolfmt.formats.calls import Calls
from toolfmt.formats.format import Call, Inner, TypesOf
from toolfmt.formats.frames import Frame, close_frame, follows, read_name
from toolfmt.formats.identities import NAME_ONLY, Identity
from toolfmt.formats.json_call import read_arguments, read_behind
from toolfmt.formats.json_object import PROSE, read_fence
from toolfmt.formats.scan import Malformed, Reading, Scan, literals

if TYPE_CHECKING:
    from toolfmt.formats.constraint import ConstrainedTool, Constraint
    from toolfmt.formats.nodes import Node
    from toolfmt.formats.schemas import Arguments

_LETTERS = re.compile(r"[a-z]*")
_KEY = re.compile(r"[\w.-]*")
_CONTROL = 4
"""A literal at least so long is a control token, which prose does not hold."""
_PUNCTUATION = tuple(":./+-")


@dataclass(frozen=True, kw_only=True)
class NamedJson(Frame):
    """How a family writes name and arguments.

    `call_opener` and `call_closer` stand around each call, `lead` before its header, `separator` behind that, `fence`
    around the arguments; `also_lead` and `also_separators` are other spellings that are read. `opener` and `closer`
    frame all calls, where the family does that; `inside` is what the writer puts next to them, `between` what it puts
    between two calls.
    """

    call_opener: str = ""
    separator: str
    also_separators: tuple[str, ...] = ()
    call_closer: str = ""
    lead: str = ""
    also_lead: str = ""
    fence: tuple[str, str] = ("", "")
    identity: Identity = NAME_ONLY
    inside: tuple[str, str] = ("", "")
    between: str = ""

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
        return Inner((self.call_opener,), (closer,) if closer else ()) if self.opener else Inner()

    # --- writing

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        written = self.between.join(self._call(name, arguments, at) for at, (name, arguments) in enumerate(calls))
        return self.opener + self.inside[0] + written + self.inside[1] + self.closer

    def _call(self, name: str, arguments: Mapping[str, Any], at: int) -> str:
        text = json.dumps(dict(arguments), ensure_ascii=False)
        header = self.lead + self.identity.write(name, at) + self.separator
        return self.call_opener + header + self.fence[0] + text + self.fence[1] + self.call_closer

    def grammar(self, constraint: Constraint) -> Node:
        # Imported here: who only reads needs none of it.
        from toolfmt.formats.constraint import json_arguments, numbered
        from toolfmt.formats.nodes import row

        def call(tool: ConstrainedTool, shape: Arguments) -> Node:
            header = row(self.lead, numbered(partial(self.identity.write, tool.name)), self.separator)
            arguments = row(self.fence[0], json_arguments(tool, shape), self.fence[1])
            return row(self.call_opener, header, arguments, self.call_closer)

        inside = constraint.calls(constraint.any_call(call), self.between)
        return row(self.opener, self.inside[0], inside, self.inside[1], self.closer)

    # --- reading

    def read(self, scan: Scan, calls: Calls, opener: str) -> Reading[None]:
        framed = bool(opener) and opener in (self.opener, *self.also)
        if not framed and (self.opener if opener else self.name_at_start == "tolerated"):
            calls.tolerate("missing_opener")
        opened = not framed
        while True:
            if not opened:
                yield from scan.skip_spaces()
                if not (yield from scan.literal(literals(self.call_opener))):
                    calls.tolerate("missing_opener")
            yield from self._read_call(scan, calls, opener)
            here = scan.position
            if not self.call_opener or not (framed or self.call_closer):
                break
            if not (yield from follows(scan, self.call_opener)):
                break
            opened = True
            calls.begin_at(here)
        if framed or self.opener:
            yield from close_frame(scan, calls, opener if framed else "", *super().closers)

    def _read_call(self, scan: Scan, calls: Calls, opener: str) -> Reading[None]:
        """One call, from after its opener to after its closer."""
        name, id = yield from self._header(scan, calls)
        if id is None and self.identity.always:
            calls.tolerate("missing_id")
        if not opener and name[-1:] in _PUNCTUATION:
            raise Malformed
        separated = yield from self._separated(scan, calls, opener)
        fence = yield from read_fence(scan)
        if fence and self.fence[0]:
            word = fence[3:] + (yield from scan.take_while(_LETTERS))
            if "json".startswith(word):
                yield from scan.need()  # the answer may end within the fence's word
            if word not in ("", "json"):
                raise Malformed
            if not word:
                calls.tolerate("repaired_markers")
        if not separated and not calls.committed:
            here = scan.position
            opening = yield from scan.expect("{", '"{', *(() if fence else ("```json", "```")))
            if opening == "{" and not opener:
                yield from self._member_follows(scan)
            scan.rewind(here)
        begin = scan.position
        try:
            yield from read_arguments(scan, calls, name, id)
        except Malformed:
            if separated and not calls.committed and (yield from self._closed_soon(scan, begin)):
                calls.commit()  # all of its control tokens stand there: it was meant as a call
            raise Malformed("invalid_arguments") from None
        calls.end()
        yield from read_behind(scan, calls)
        if not opener and not fence and (yield from scan.begins(PROSE)) is not None:
            calls.refuse("malformed_syntax")  # a sentence that has a call in it
        if fence:
            if not self.fence[0]:
                calls.tolerate("markdown_fence")
            if not (yield from follows(scan, "```")):
                calls.tolerate("missing_closer")
        elif self.fence[0]:
            calls.tolerate("missing_fence")
        if self.call_closer.strip():
            yield from close_frame(scan, calls, "opened", self.call_closer.strip())

    def _closed_soon(self, scan: Scan, begin: int) -> Reading[bool]:
        """Whether a control token closes the call behind the brace that stands at `begin`; nothing is read."""
        closer, wrong = self.call_closer.strip(), scan.position
        if len(closer) < _CONTROL:
            return False
        scan.rewind(begin)
        found = (yield from scan.peek()) == "{" and (yield from scan.near(literals(closer, "\n\n"), FAR)) == closer
        scan.rewind(wrong)
        return found

    def _separated(self, scan: Scan, calls: Calls, opener: str) -> Reading[bool]:
        """What stands behind the header. Detokenizers may have dropped a control token there.

        True where it stands: the arguments of a declared tool must follow then, and in a message nothing else may.
        """
        separators = (self.separator, *self.also_separators)
        signs = [separator for separator in separators if separator.strip()]
        spaces = yield from scan.spaces()
        if signs:
            sign = yield from scan.literal(literals(*signs))
            if sign:
                if opener and self.start_only_openers and (yield from scan.peek()) != "{":
                    calls.commit()
                return bool(opener) and len(sign) >= _CONTROL
        if len(signs) == len(separators):
            if opener and len(signs[0]) >= _CONTROL and (yield from scan.peek()) == "{":
                calls.tolerate("missing_separator")
                return False
            yield from scan.expect(*signs, *((self.identity.marker,) if self.identity.marker else ()))
            raise Malformed
        elif "\n" not in spaces:
            yield from scan.need()
            raise Malformed
        return False

    def _header(self, scan: Scan, calls: Calls) -> Reading[tuple[str, str | None]]:
        """Name and id, up to the separator."""
        if len(self.call_opener) >= _CONTROL:
            yield from scan.skip_spaces()
        leads = [lead.strip() for lead in (self.lead, self.also_lead) if lead]
        if leads:
            here = scan.position
            led = yield from scan.literal(literals(*leads))
            yield from scan.skip_spaces()
            if led and not (yield from self._word_follows(scan)):
                scan.rewind(here)  # a tool that is called like the lead
                led = ""
            if self.lead and not led:
                calls.tolerate("missing_prefix")
        first = yield from read_name(scan)
        if not first:
            yield from scan.need()
            raise Malformed
        second = ""
        if self.identity.marker:
            here = scan.position
            if (yield from follows(scan, self.identity.marker)):
                yield from scan.skip_spaces()
                second = yield from read_name(scan)
                if not second:
                    calls.tolerate("empty_id")
            else:
                scan.rewind(here)
        return self.identity.read(first, second)

    def _member_follows(self, scan: Scan) -> Reading[None]:
        """A name without an opener may be a word of code, and the brace behind it open a block of that."""
        yield from scan.skip_spaces()
        if (yield from scan.need()) not in "\"'}":
            yield from scan.take_while(_KEY)
            yield from scan.skip_spaces()
            yield from scan.expect(":")

    def _word_follows(self, scan: Scan) -> Reading[bool]:
        here = scan.position
        word = yield from read_name(scan)
        scan.rewind(here)
        return bool(word)
