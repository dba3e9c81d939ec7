"""SGLang's tool-call parsers, two a format: `toolfmt_<format>` tells whole calls, `toolfmt_<format>_streamed` what
comes as it comes, arguments too.

    python -m sglang.launch_server --model-path MODEL --tool-call-parser toolfmt_glm4

Installing toolfmt is enough (`sglang_plugin.py`); `register` does the same by hand. Contract: SGLang 0.5.23,
`sglang/srt/function_call/base_format_detector.py` and `function_call_parser.py`; one detector reads one choice of an
answer. Nothing is kept in `prev_tool_call_arr`: SGLang would send again what it believes to have been left out there,
and `{}` for a call that was cut before its arguments. The ids are SGLang's.
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


class ToolfmtDetector(BaseFormatDetector):  # type: ignore[misc]  # SGLang is not there where types are checked
    """A parser of one format; SGLang takes a class for each."""

    format: ClassVar[ToolCallFormat]
    whole_calls: ClassVar[bool]

    def __init__(self) -> None:
        super().__init__()
        # At this SGLang stops models of Kimi K3; an empty text, which it would be else, stops them at once.
        self.eot_token = next(iter(self.format.closers), None)
        self._deltas: Deltas | None = None

    def has_tool_call(self, text: str) -> bool:
        """Whether something in a whole answer may be a call. A call that only a declared tool's name shows is known
        once the tools are; what stands behind such a name shows that there may be one."""
        named = self.format.engine.named
        parser = Parser(self.format, reasoning="text")
        said = [*parser.feed(text), *parser.finish()]
        return bool(named and named in text) or any(not isinstance(event, Content) for event in said)

    def detect_and_parse(self, text: str, tools: list[Any]) -> Any:
        """A whole answer. What was rejected or cut is no call of it; what lacks nothing but closers is one."""
        return _result(whole(Deltas(self.format, tools, whole_calls=True), text))

    def parse_streaming_increment(self, new_text: str, tools: list[Any]) -> Any:
        """What is new of an answer."""
        if self._deltas is None:
            self._deltas = Deltas(self.format, tools, whole_calls=self.whole_calls)
        return _result(self._deltas.feed(new_text))

    def finish(self, tools: list[Any]) -> Any:
        """What was held back of an answer that has ended. The next text that comes is another answer's."""
        deltas, self._deltas = self._deltas, None
        return _result(Delta("", []) if deltas is None else deltas.finish())

    def parses_required_natively(self) -> bool:
        """Required and named calls are read as the model writes them; SGLang then forces no JSON on it."""
        return True

    def supports_structural_tag(self) -> bool:
        """No: what the model writes is read, not constrained."""
        return False

    def structure_info(self) -> Any:
        """Never asked for, as no structural tags are supported."""
        raise NotImplementedError("toolfmt's parsers support no structural tags (supports_structural_tag)")


def _result(delta: Delta) -> Any:
    return StreamingParseResult(normal_text=delta.content, calls=[_item(**call) for call in delta.calls])


def _item(index: int, function: dict[str, str], **_: str) -> Any:
    return ToolCallItem(tool_index=index, name=function.get("name"), parameters=function["arguments"])


def register() -> None:
    """Make the parsers known to SGLang: by the names that it takes, and by what they stand for."""
    for name, format, whole_calls in parsers():
        detector = type(name, (ToolfmtDetector,), {"format": format, "whole_calls": whole_calls})
        FunctionCallParser.ToolCallParserEnum[name] = detector
        if name not in TOOL_CALL_PARSER_NAMES:
            TOOL_CALL_PARSER_NAMES.append(name)
