"""The flag engine: name and arguments in a hash with arrows, and the arguments as command-line flags.

No model is trained on this syntax, but some write it by mistake. Every call is recorded as `other_notation`, also if
the frame contains a JSON object with the same keys instead of the hash.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.frame import Frame, close_frame, follows
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import LONGEST_WORD, Malformed, Reading, Scan
from toolfmt.formats.scanner.spans import quoted
from toolfmt.formats.values.layout import Call, TypesOf
from toolfmt.formats.values.syntaxes import JSON
from toolfmt.formats.values.value_reader import read_value

_FLAG = re.compile(r"[\w.-]*")


@dataclass(frozen=True, kw_only=True)
class Flags(Frame):
    """Calls such as `{tool => "f", args => {--key "value"}}`."""

    name_key: ClassVar[str] = "tool"
    arguments_key: ClassVar[str] = "args"

    @cached_property
    def _json(self) -> JsonObject:
        return JsonObject(
            opener=self.opener, closer=self.closer, name_key=self.name_key, arguments_key=self.arguments_key
        )

    # --- writing

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        return "\n".join(f"{self.opener}\n{self._hash(*call)}\n{self.closer}" for call in calls)

    def _hash(self, name: str, arguments: Mapping[str, Any]) -> str:
        flags = [f"  --{key} {json.dumps(value, ensure_ascii=False)}\n" for key, value in arguments.items()]
        lines = "".join(("\n", *flags)) if flags else ""
        return f"{{{self.name_key} => {quoted(name)}, {self.arguments_key} => {{{lines}}}}}"

    # --- reading

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        calls.record_tolerance("other_notation")
        yield from scan.skip_spaces()
        begin = scan.position
        yield from scan.expect("{")
        yield from scan.skip_spaces()
        if (yield from scan.need("a key")) == '"':
            scan.rewind(begin)
            yield from self._json.read(scan, calls, opener)
            return
        yield from self._member(scan, self.name_key)
        yield from scan.expect('"')
        calls.name_at = scan.position
        name, _ = yield from scan.within(literals('"'))
        yield from follows(scan, ",")
        yield from self._member(scan, self.arguments_key)
        yield from self._arguments(scan, calls, name)
        yield from scan.skip_spaces()
        yield from scan.expect("}")
        calls.end()
        yield from close_frame(scan, calls, opener, *self.closers)

    def _member(self, scan: Scan, key: str) -> Reading[None]:
        """Consume a key of the hash and the arrow after it."""
        yield from scan.skip_spaces()
        yield from scan.expect(key)
        yield from scan.skip_spaces()
        yield from scan.expect("=>")
        yield from scan.skip_spaces()

    def _arguments(self, scan: Scan, calls: CallBuilder, name: str) -> Reading[None]:
        """Start the call and parse its arguments: flags in braces, or a JSON object."""
        begin = scan.position
        yield from scan.expect("{")
        calls.start(name)
        yield from scan.skip_spaces()
        if (yield from scan.need("a key")) == '"':
            scan.rewind(begin)
            yield from read_value(scan, calls, JSON)
            return
        calls.arguments("{")
        keys = set[str]()
        while not (yield from scan.literal(literals("}"))):
            here = scan.position
            key = yield from self._flag(scan)
            repeated = calls.member(key, keys, here)
            yield from read_value(scan, calls, JSON)
            if repeated:
                calls.end_repeated()
            yield from follows(scan, ",")
            yield from scan.skip_spaces()
        calls.arguments("}")

    def _flag(self, scan: Scan) -> Reading[str]:
        """Consume `--` and a key, and return the key. A colon or an equals sign may separate it from its value."""
        yield from scan.expect("--")
        key = yield from scan.take_while(_FLAG, LONGEST_WORD)
        if not key:
            yield from scan.need("a key")
            raise Malformed(expected="a key")
        yield from scan.literal(literals(":", "="))
        yield from scan.skip_spaces()
        return key
