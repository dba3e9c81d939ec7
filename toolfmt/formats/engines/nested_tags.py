"""The nested tags engine: a parameter's name is the tag, objects are tags in tags, and lists are tags of items.

Every tag follows a marker (`sign`) that no text contains, so a value may contain any other tags. The schema of the tool
decides what a text means, at every depth. Without a schema, a text is a JSON literal if it is one, otherwise a string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.engine import Inner
from toolfmt.formats.engines.frame import Frame, check_filled, close_frame, follows
from toolfmt.formats.engines.raw_value import Value
from toolfmt.formats.engines.tagged import opens_json
from toolfmt.formats.engines.tags import CallMarks, another_call, own_end
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, Reading, Scan
from toolfmt.formats.values.clean_json import DEEPEST
from toolfmt.formats.values.layout import TOOL_NAME, EachArgument, EachCall, Element, LaidOut, TypesOf
from toolfmt.formats.values.nodes import Node, row
from toolfmt.formats.values.schema_types import STRING, Types, raw_text, type_of
from toolfmt.formats.values.syntaxes import LITERAL
from toolfmt.formats.values.value_reader import read_value
from toolfmt.messages.rejections import end_marker, named

_TAG = re.compile(r"[^<>\s/]*")
_OPENS = re.compile(r"<[^<>\s/][^<>\n]*")
_CLOSES = re.compile(r"</[^<>\s/]+>")
_MOST_QUOTED = 64
_EMPTY = {"string": '""', "object": "{}", "array": "[]", "null": "null"}


@dataclass
class _Open:
    """An open element: its tag, the bracket that closes it in JSON, and its path in the arguments."""

    tag: str
    closer: str
    path: tuple[str, ...]
    members: int = 0
    keys: set[str] = field(default_factory=set)
    """The keys of an object so far."""
    repeated: bool = False
    """Whether it is the second value of a key."""


class _Leaf(Value):
    """A text up to the end tag of its element. `parent` is the tag around it; `beside` decides if a key may come next.

    A string may quote tags with their marker. The end tag of the parent ends it if the frame continues after that, and
    so does the tag of the next argument: then the text has lost its end tag. If no string is allowed, every tag does.
    """

    def __init__(
        self,
        scan: Scan,
        calls: CallBuilder,
        tags: NestedTags,
        tag: str,
        parent: str,
        beside: Callable[[str], bool],
        types: Types,
    ) -> None:
        super().__init__(scan, calls, literals(tags.sign), f"{tags.sign}</{tag}>")
        self.tags, self.tag, self.parent, self.beside = tags, tag, parent, beside
        self.string = types is not None and "string" in types
        self.may_be_string = types is None or self.string
        self.quoted: list[str] = []
        """The tags that are open in the text."""
        self.own_end: int | None = None
        """The offset of the end tag, if a lookahead has found it. The tags before it belong to the text."""

    def _met(self, stop: str) -> Reading[tuple[str, str]]:
        scan, begin, here = self.scan, self.scan.position - len(stop), self.scan.position
        if self.own_end is not None and begin < self.own_end:
            return "", stop
        opening = yield from scan.literal(literals("</", "<"))
        if not opening:
            before, following = self._last(begin, 1), (yield from scan.peek())
            if scan.cut and not following:
                self._never_ended()
            if not before or before not in "\"'`" or following != before:
                self._wrong(begin)  # the marker alone is text only between quotes
            return "", stop
        try:
            tag, _ = yield from scan.within(literals(">"))
        except (Malformed, Incomplete):
            tag = "<"
        if opening == "</" and tag == self.tag and (tag not in self.quoted or begin == self.own_end):
            return stop, ""
        after = scan.position
        ends = yield from self._ends_the_text(opening, tag)
        stopped = ends or not self.string
        if stopped and self.may_be_string:
            scan.rewind(after)
            if not (yield from another_call(scan, self.tags.of_calls)) and (yield from self._goes_on_to_own_end(here)):
                return "", stop
        if ends:
            if not self.quoted and self.doubt is None and begin > self.begin and self._last(begin, 1) not in "]<>":
                self.calls.record_tolerance("missing_value_closer")
                scan.rewind(begin)
                return stop, ""
            if self.may_be_string and scan.cut and scan.closed and len(scan.text) - scan.at < MAX_LOOKAHEAD:
                self._never_ended()
            self._wrong(begin)
        if not self.string:
            self._wrong(begin)
        scan.rewind(here)
        return "", stop

    def _goes_on_to_own_end(self, here: int) -> Reading[bool]:
        """Whether the end tag of the text is near, after a marker that ends at `here`. Nothing after that is read."""
        sign, after = self.tags.sign, self.scan.position
        self.scan.rewind(here - len(sign))
        own, another = (f"{sign}</{self.tag}>",), (f"{sign}<{self.tag}>",)
        self.own_end = yield from own_end(
            self.scan, own, another, self.quoted.count(self.tag), (sign,), self.tags.of_calls
        )
        self.scan.rewind(after if self.own_end is None else here)
        return self.own_end is not None

    def _ends_the_text(self, opening: str, tag: str) -> Reading[bool]:
        """Whether a tag shows that the text has lost its end tag. Otherwise the tag is quoted."""
        begin = self.scan.position - len(opening) - len(tag) - 1
        if opening == "<":
            if not self.quoted and self.beside(tag):
                return True
            self._doubt(begin - len(self.tags.sign))
            self.quoted.append(tag.partition(" ")[0])
            if len(self.quoted) > _MOST_QUOTED:
                self._wrong(begin)
            return False
        if tag in self.quoted:
            while self.quoted.pop() != tag:
                pass
            return False
        if tag == self.parent and tag != self.tags.call_tag:
            return True
        if tag == self.tags.call_tag or f"{self.tags.sign}</{tag}>" in self.tags.closers:
            yield from self.scan.skip_spaces()
            behind = literals(*self.tags.inner.openers, *self.tags.openers, *self.tags.closers)
            if (yield from self.scan.literal(behind)) or not (yield from self.scan.peek()):
                return True
        self._doubt(begin - len(self.tags.sign))
        return False

    def _forget(self) -> None:
        super()._forget()
        self.quoted, self.own_end = [], None


@dataclass(frozen=True, kw_only=True)
class NestedTags(LaidOut, Frame):
    """Calls as nested elements. `sign` is the marker before every tag; `opener` and `closer` contain it too.

    `call_opener` and `name_closer` are around the name of the tool, and `call_closer` is the end tag of a call. The
    marker `sign` is before the first and the last of these. Without `opener` these are the only markers of a call.

    Raises `ValueError`, which names the parameter: `sign` must not be empty, and a call must end with a tag.
    """

    item: ClassVar[str] = "item"
    """The tag of list items."""
    sign: str
    call_opener: str = '<invoke name="'
    name_closer: str = '">'
    call_closer: str = "</invoke>"

    def __post_init__(self) -> None:
        check_filled(self)
        if not self.sign.strip() or self.sign != self.sign.strip():
            raise ValueError(f"sign: {self.sign!r:.80} does not distinguish tags from the text between them")
        if not _OPENS.fullmatch(self.call_opener):
            raise ValueError(f"call_opener: a call must start with a tag, not {self.call_opener!r:.80}")
        if not self.name_closer.endswith(">") or self.name_closer[0] not in "\"'> /":
            raise ValueError(f"name_closer: the end of the name cannot be recognized before {self.name_closer!r:.80}")
        if not _CLOSES.fullmatch(self.call_closer):
            raise ValueError(f"call_closer: a call must end with a closing tag, not {self.call_closer!r:.80}")

    @property
    def openers(self) -> tuple[str, ...]:
        return super().openers if self.opener else (self._call_opener, *self.also)

    @property
    def closers(self) -> tuple[str, ...]:
        return self.frame_closers if self.opener else (self.sign + self.call_closer,)

    @property
    def frame_closers(self) -> tuple[str, ...]:
        """The end markers of the frame around calls; empty if there is no frame."""
        return super().closers if self.opener else ()

    @property
    def inner(self) -> Inner:
        return Inner((self._call_opener,), (self.sign + self.call_closer,)) if self.opener else Inner()

    @property
    def _call_opener(self) -> str:
        return self.sign + self.call_opener

    @cached_property
    def call_tag(self) -> str:
        """The name of the end tag of a call."""
        return self.call_closer[2:-1]

    @cached_property
    def of_calls(self) -> CallMarks:
        return CallMarks((self._call_opener,), (self.sign + self.call_closer,), (*self.frame_closers, *self.openers))

    @cached_property
    def _name_ends(self) -> Literals:
        return literals(self.name_closer, self.name_closer[0], "<", ">")

    # --- writing

    @cached_property
    def layout(self) -> Node:
        head, arguments = row(self._call_opener, TOOL_NAME, self.name_closer), EachArgument(Element(self))
        calls = EachCall(row(head, arguments, self.sign, self.call_closer), "\n")
        return row(self.opener, "\n", calls, "\n", self.closer) if self.opener else calls

    def element(self, tag: str, value: Any, types: TypesOf, path: tuple[str, ...]) -> str:
        return f"{self.sign}<{tag}>{self._value(value, types, path)}{self.sign}</{tag}>"

    def _value(self, value: Any, types: TypesOf, path: tuple[str, ...]) -> str:
        declared = types(*path)
        if isinstance(value, dict) and value and self._plain(value) and _may_be("object", declared):
            return "".join(self.element(key, inner, types, (*path, key)) for key, inner in value.items())
        if isinstance(value, list) and value and _may_be("array", declared):
            return "".join(self.element(self.item, inner, types, (*path, "")) for inner in value)
        if isinstance(value, (dict, list)) and not value and declared == frozenset({type_of(value)}):
            return ""
        return raw_text(value, declared)

    def _plain(self, value: Mapping[str, Any]) -> bool:
        """Whether every key can be a tag, and none could be a list item."""
        return all(map(self.names_a_tag, value))

    def names_a_tag(self, key: str) -> bool:
        """Whether a key can be a tag, and could not be a list item."""
        return bool(key) and key != self.item and _TAG.fullmatch(key) is not None

    # --- parsing

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        if not opener and self.opener:
            calls.record_tolerance("missing_opener")
        if opener != self._call_opener:
            yield from scan.skip_spaces()
            yield from scan.expect(self._call_opener)
        while True:
            calls.name_at = scan.position
            name, closed = yield from scan.within(self._name_ends, closer=self.name_closer)
            if closed != self.name_closer:
                scan.rewind(scan.position - len(closed))
                yield from scan.expect(self.name_closer)  # it is incomplete or missing
            calls.start(name)
            end = yield from self._members(scan, calls)
            calls.end()
            if end:
                calls.record_tolerance("missing_closer")
            if end in self.frame_closers:
                return
            here = scan.position - len(end)
            another = self._call_opener if self.opener else ""
            if not end and not (another and (yield from follows(scan, another))):
                break
            calls.begin_at(here)
        if self.opener:
            yield from close_frame(scan, calls, opener, *self.closers)

    def _members(self, scan: Scan, calls: CallBuilder) -> Reading[str]:
        """Parse the arguments up to the end tag of the call. The open elements are on a stack.

        If that tag is missing, return what ended the call: the end marker of the frame, or the next call's start tag.
        """
        begins, ends = self.sign + "<", self.sign + "</"
        calls.arguments("{")
        stack = [_Open(self.call_tag, "}", ())]
        closed = ""
        while stack:
            top = stack[-1]
            yield from scan.skip_spaces()
            end = yield from scan.literal(literals(self._call_opener, *(self.frame_closers if len(stack) == 1 else ())))
            if end and len(stack) > 1:
                scan.rewind(scan.position - len(end))
                raise Malformed(expected=self._end_tag(top.tag))
            if end:
                calls.arguments("}")
                return end
            try:
                token = yield from scan.expect(begins, ends)
            except (Malformed, Incomplete) as wrong:
                wrong.expected = f"a tag or {self._end_tag(top.tag)}"
                raise
            here = scan.position
            tag, _ = yield from scan.within(literals(">"))
            if not tag or not _TAG.fullmatch(tag):
                raise Malformed(expected="the name of a tag", at=here)
            if token == ends and tag == closed != top.tag:
                calls.record_tolerance("repeated_closer")
                continue
            if token == ends:
                if tag != top.tag:
                    raise Malformed(expected=self._end_tag(top.tag), at=here - len(ends))
                closed = tag
                calls.arguments(stack.pop().closer)
                if top.repeated:
                    calls.end_repeated()
                continue
            path, repeated = (*top.path, tag if top.closer == "}" else ""), False
            if top.closer == "}":
                repeated = calls.member(tag, top.keys, here)
            elif tag != self.item:
                raise Malformed("invalid_arguments", f"the tag {named(self.item)} of a list item", here)
            else:
                calls.arguments(", " if top.members else "")
                top.members += 1
            types = calls.types(*path)
            inside = yield from self._inside(scan, types)
            if inside:
                if len(stack) > DEEPEST:
                    raise Malformed("invalid_arguments", f"at most {DEEPEST} levels of lists and objects")
                calls.arguments(inside)
                stack.append(_Open(tag, "]" if inside == "[" else "}", path, repeated=repeated))
            else:
                yield from self._leaf(scan, calls, tag, top, types)
                closed = tag
                if repeated:
                    calls.end_repeated()
        return ""

    def _inside(self, scan: Scan, types: Types) -> Reading[str]:
        """Return the bracket of the list or object that starts here; "" for a text. Nothing is read."""
        if types is not None and not types & {"object", "array"}:
            return ""
        here = scan.position
        yield from scan.skip_spaces()
        if (yield from scan.literal(literals(self.sign + "<", self.sign + "</"))) != self.sign + "<":
            scan.rewind(here)
            return ""
        tag = yield from scan.take_while(_TAG)
        scan.rewind(here)
        listed = tag == self.item and _may_be("array", types)
        return "[" if listed or not _may_be("object", types) else "{"

    def _end_tag(self, tag: str) -> str:
        """Return a phrase for the end tag, for an error."""
        return end_marker(f"{self.sign}</{tag}>")

    def _closes(self, scan: Scan, tag: str) -> Reading[bool]:
        """Read the end tag if it is here. No pattern is compiled, because there may be thousands of tags."""
        here = scan.position
        if (yield from scan.literal(literals(self.sign + "</"))):
            found = yield from scan.take_while(_TAG, len(tag) + 1)
            if found == tag and (yield from scan.peek()) == ">":
                scan.skip()
                return True
            scan.rewind(here)
        return False

    def _leaf(self, scan: Scan, calls: CallBuilder, tag: str, parent: _Open, types: Types) -> Reading[None]:
        here = scan.position
        if types is not None and not types & STRING:
            yield from scan.skip_spaces()
        if types is not None and (yield from self._closes(scan, tag)):
            calls.arguments(next((text for kind, text in _EMPTY.items() if kind in types), '""'))
            return
        scan.rewind(here)

        def beside(key: str) -> bool:
            return not parent.path and key not in parent.keys and calls.declares(key) is True

        value = _Leaf(scan, calls, self, tag, parent.tag, beside, types)
        first = yield from scan.need("a value")
        if opens_json(types, first):
            try:
                yield from read_value(scan, calls, LITERAL)
                yield from scan.skip_spaces()
                end = scan.position
                yield from scan.expect(self.sign + "</")
                if (yield from scan.within(literals(">")))[0] != tag:
                    raise Malformed(expected=self._end_tag(tag), at=end)
            except Malformed as wrong:
                raise Malformed("invalid_arguments", wrong.expected, wrong.at) from None
        else:
            yield from value.reading(types, first)


def _may_be(kind: str, types: Types) -> bool:
    return types is None or kind in types
