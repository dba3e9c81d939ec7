"""Calls of which only the name of a declared tool shows that they are calls: no format has their markers.

A runtime that removes special tokens leaves such calls of many formats: `functions.get_time:0{}`,
`commentary to=functions.get_time json{}`, `get_time{}`. Other models write the name of the tool as a tag.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.frame import NAME, Frame
from toolfmt.formats.engines.json_members import read_arguments, skip_surplus
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import LONGEST_WORD, Malformed, Reading, Scan
from toolfmt.formats.scanner.spans import quoted
from toolfmt.formats.values.schema_types import typed

RECIPIENTS = ("functions.", "to=functions.", "commentary to=functions.", "assistant to=functions.",
              "assistant commentary to=functions.")  # fmt: skip
"""What is left of headers before a name."""
_RECIPIENT = literals(*RECIPIENTS)
_AFTER_NAME = literals("[CALL_ID]", "[ARGS]", "<|message|>", "<|constrain|>", "json", "code", " ", "\n")
"""What is left between a name and its arguments."""
_ID = re.compile(r"\w*")
_MOST_SEPARATORS = 5
_NUMBER = re.compile(r":\d{1,9}\Z")
_ARGUMENTS_START = ('"', "'", "}")
_LONGEST_TAG_CALL = 2000
_PAIR = re.compile(r"<(?:parameter=)?([\w.-]+)>\n?(.*?)\n?</(?:parameter|\1)>", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class _Bare(Frame):
    """An engine that only reads."""

    def write(self, calls: object, types: object) -> NoReturn:
        raise NotImplementedError("calls of this syntax are read but never written")


@dataclass(frozen=True, kw_only=True)
class BareHeader(_Bare):
    """A name with what a runtime left of its header, and a JSON object after it."""

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        yield from scan.literal(_RECIPIENT)
        calls.name_at = scan.position
        name = yield from scan.take_while(NAME, LONGEST_WORD)
        name = _NUMBER.sub("", name)
        if not calls.is_declared(name):
            raise Malformed(expected="the name of a declared tool", at=calls.name_at)
        for _ in range(_MOST_SEPARATORS):
            if (yield from scan.literal(_AFTER_NAME)) == "[CALL_ID]":
                yield from scan.take_while(_ID, LONGEST_WORD)
        begin = scan.position
        yield from scan.expect("{")
        yield from scan.skip_spaces()
        if (yield from scan.need("a key")) not in _ARGUMENTS_START:
            raise Malformed(expected="a key in quotes")
        scan.rewind(begin)
        yield from read_arguments(scan, calls, name, None)
        calls.end()
        yield from skip_surplus(scan, calls)


@dataclass(frozen=True, kw_only=True)
class NameTag(_Bare):
    """`<NAME>`, each argument in a tag of its own or in `<parameter=KEY>`, and an end tag.

    Nothing shows earlier where such a call ends, so it is held back as a whole.
    """

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        yield from scan.expect("<")
        calls.name_at = scan.position
        name = yield from scan.take_while(NAME, LONGEST_WORD)
        if not calls.is_declared(name):
            raise Malformed(expected="the name of a declared tool", at=calls.name_at)
        yield from scan.expect(">")
        begin = scan.position
        ends = literals(f"</{name}>", "</function>", "</tool_call>")
        end = yield from scan.find_near(ends, _LONGEST_TAG_CALL)
        if not end:
            raise Malformed(expected=f"</{name}>")
        body = scan.kept_between(begin, scan.position).removesuffix(end)
        pairs = _PAIR.findall(body)
        keys = [key for key, _ in pairs]
        if _PAIR.sub("", body).strip() or len(set(keys)) < len(keys) or any(_PAIR.search(value) for _, value in pairs):
            raise Malformed(expected="one pair of tags for each argument")
        if not all(calls.declares(key, name) for key in keys):
            raise Malformed(expected="declared parameters")
        calls.start(name)
        arguments = []
        for key, value in pairs:
            text = typed(value, calls.types(key), calls.record_tolerance)
            arguments.append(f"{quoted(key)}: {quoted(value) if text is None else text}")
        calls.arguments("{" + ", ".join(arguments) + "}")
        calls.end()
