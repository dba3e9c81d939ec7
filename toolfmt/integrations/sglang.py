"""SGLang's tool-call parsers, two per format: `toolfmt_<format>` for whole calls, `toolfmt_<format>_streamed` for
deltas.

    python -m sglang.launch_server --model-path MODEL --tool-call-parser toolfmt_glm4

Installing toolfmt is enough (`sglang_plugin.py`); `register` does the same by hand. Contract: SGLang 0.5.23,
`sglang/srt/function_call/base_format_detector.py` and `function_call_parser.py`; one detector parses one choice of a
response. `prev_tool_call_arr` stays empty: SGLang would send again what seems to be missing in it, and `{}` for a call
that was cut before its arguments. SGLang generates the ids.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import StreamingParseResult, ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.function_call.parser_names import TOOL_CALL_PARSER_NAMES

from toolfmt.formats import Parser, ToolCallFormat
from toolfmt.integrations.deltas import Delta, Deltas, parsers, whole
from toolfmt.messages.events import Content

__all__ = ["register"]


class ToolfmtDetector(BaseFormatDetector):  # type: ignore[misc]  # SGLang is not installed for type checking
    """A parser of one format; SGLang requires a class for each."""

    format: ClassVar[ToolCallFormat]
    whole_calls: ClassVar[bool]

    def __init__(self) -> None:
        super().__init__()
        # SGLang stops models of Kimi K3 at this string; the default, an empty string, would stop them immediately.
        self.eot_token = next(iter(self.format.closers), None)
        self._deltas: Deltas | None = None

    def has_tool_call(self, text: str) -> bool:
        """Return whether a whole response may contain a call.

        If only the name of a declared tool marks a call, the tools are needed to decide. Then the text that follows
        such a name is enough.
        """
        named = self.format.engine.named
        parser = Parser(self.format, reasoning="text")
        events = [*parser.feed(text), *parser.finish()]
        return bool(named and named in text) or any(not isinstance(event, Content) for event in events)

    def detect_and_parse(self, text: str, tools: list[Any]) -> Any:
        """Parse a whole response. Rejected and cut calls are left out; only end markers of a call may be missing."""
        return _result(whole(Deltas(self.format, tools, whole_calls=True), text))

    def parse_streaming_increment(self, new_text: str, tools: list[Any]) -> Any:
        """Return the new part of a response."""
        if self._deltas is None:
            self._deltas = Deltas(self.format, tools, whole_calls=self.whole_calls)
        return _result(self._deltas.feed(new_text))

    def finish(self, tools: list[Any]) -> Any:
        """Return what was held back of an ended response. Further text belongs to the next response."""
        deltas, self._deltas = self._deltas, None
        return _result(Delta("", []) if deltas is None else deltas.finish())

    def parses_required_natively(self) -> bool:
        """Required and named calls are parsed in the model's own format, so SGLang does not force JSON."""
        return True

    def supports_structural_tag(self) -> bool:
        """Return False: output is parsed, not constrained."""
        return False

    def structure_info(self) -> Any:
        """Never called, because structural tags are not supported."""
        raise NotImplementedError("toolfmt's parsers support no structural tags (supports_structural_tag)")


def _result(delta: Delta) -> Any:
    return StreamingParseResult(normal_text=delta.content, calls=[_item(**call) for call in delta.calls])


def _item(index: int, function: dict[str, str], **_: str) -> Any:
    return ToolCallItem(tool_index=index, name=function.get("name"), parameters=function["arguments"])


def register() -> None:
    """Register the parsers with SGLang, by name and by class."""
    for name, format, whole_calls in parsers():
        detector = type(name, (ToolfmtDetector,), {"format": format, "whole_calls": whole_calls})
        FunctionCallParser.ToolCallParserEnum[name] = detector
        if name not in TOOL_CALL_PARSER_NAMES:
            TOOL_CALL_PARSER_NAMES.append(name)
