"""Calls with damaged markers: they are parsed like those of the format, and recorded as a tolerance.

The format's writer never uses these markers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.engine import Engine, Inner, NameAtStart
from toolfmt.formats.engines.frame import first_name
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.scanner.lookahead import LookaheadExceeded
from toolfmt.formats.scanner.scanner import Malformed, Reading, Scan
from toolfmt.formats.values.layout import Call, TypesOf, layout_of
from toolfmt.formats.values.nodes import Node


@dataclass(frozen=True)
class Elsewhere:
    """Parse calls with an engine and record a tolerance for each.

    If tools are declared, only a call of a declared tool counts; other text in that syntax may be ordinary content.

    Args:
        engine: The engine.
        note: The name of the tolerance that is recorded for each call.
    """

    engine: Engine
    note: str

    @property
    def openers(self) -> tuple[str, ...]:
        return self.engine.openers

    @property
    def unframed_openers(self) -> tuple[str, ...]:
        return self.engine.unframed_openers

    @property
    def start_only_openers(self) -> tuple[str, ...]:
        return self.engine.start_only_openers

    @property
    def closers(self) -> tuple[str, ...]:
        return self.engine.closers

    @property
    def trailing_markers(self) -> tuple[str, ...]:
        return self.engine.trailing_markers

    @property
    def inner(self) -> Inner:
        return self.engine.inner

    @property
    def name_at_start(self) -> NameAtStart:
        return "never"

    @property
    def named(self) -> str:
        return ""

    @property
    def layout(self) -> Node:
        return layout_of(self.engine)

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        return self.engine.write(calls, types)

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        if not calls.committed:  # a later call of a frame that is already committed needs no check
            try:
                name = yield from first_name(lambda view, run: self.engine.read(view, run, opener), scan, calls)
            except LookaheadExceeded:
                raise Malformed(expected="the name of a tool") from None
            if not name or calls.is_known(name) is False:
                raise Malformed(expected="the name of a declared tool")
        calls.tolerate_each(self.note)
        try:
            yield from self.engine.read(scan, calls, opener)
        finally:
            calls.tolerate_each("")


JSON_IN_TOOLS = Elsewhere(
    JsonObject(
        opener="<tools>",
        closer="</tools>",
        also=("<tool_call>\n<tools>",),
        also_closers=("</tools>\n</tool_call>",),
    ),
    "foreign_format:json_object",
)
"""Calls as JSON in the tags around the tool definitions, which Qwen models write instead of their own tags."""
