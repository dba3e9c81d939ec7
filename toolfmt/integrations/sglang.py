"""SGLang's tool-call parsers: `toolfmt`, which finds the format of the model, and `toolfmt_<format>`.

    python -m sglang.launch_server --model-path MODEL --tool-call-parser toolfmt

Each sends whole calls; with `_streamed` after its name, it streams arguments. Installing toolfmt is enough
(`sglang_plugin.py`); `register` does the same explicitly. Contract: SGLang 0.5.23,
`sglang/srt/function_call/base_format_detector.py` and `function_call_parser.py`; one detector parses one choice of a
response. `prev_tool_call_arr` stays empty: SGLang would send again what seems to be missing in it, and `{}` for a call
that was cut before its arguments. SGLang generates the ids.

For required and named calls and strict tools, SGLang requests a structural tag. The tag allows only calls with valid
arguments, whether a tool is strict or not.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import StreamingParseResult, ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.function_call.parser_names import TOOL_CALL_PARSER_NAMES
from sglang.srt.runtime_context import get_server_args

from toolfmt.formats import Parser
from toolfmt.integrations.deltas import Delta, Deltas, whole
from toolfmt.integrations.served_formats import ServedParser, parsers, structural_tag
from toolfmt.messages.events import Content

__all__ = ["register"]


class ToolfmtDetector(BaseFormatDetector):  # type: ignore[misc]  # SGLang is not installed for type checking
    """A parser of one format; SGLang requires a class for each."""

    parser: ClassVar[ServedParser]

    def __init__(self, tokenizer: Any = None) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        self.format = self.parser.format(_server_value("model_path"))
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
        """Parse a whole response. Rejected and truncated calls are left out; only end markers may be missing."""
        return _result(whole(Deltas(self.format, tools, whole_calls=True), text))

    def parse_streaming_increment(self, new_text: str, tools: list[Any]) -> Any:
        """Return the new part of a response."""
        if self._deltas is None:
            self._deltas = Deltas(self.format, tools, whole_calls=self.parser.whole_calls)
        return _result(self._deltas.feed(new_text))

    def finish(self, tools: list[Any]) -> Any:
        """Return what was held back of an ended response. Further text belongs to the next response."""
        deltas, self._deltas = self._deltas, None
        return _result(Delta("", []) if deltas is None else deltas.finish())

    def parses_required_natively(self) -> bool:
        """Required and named calls are parsed in the model's own format, so SGLang does not force JSON."""
        return True

    def get_structural_tag(
        self,
        tools: list[Any] | None = None,
        tool_choice: Any = "auto",
        thinking_mode: bool = False,
        parallel_tool_calls: bool = True,
    ) -> Any:
        """Return the structural tag for a request, or None if there is none.

        Args:
            tools: The tools.
            tool_choice: `auto`, `required`, or the choice of a tool.
            thinking_mode: Not used: a reasoning block may always come first.
            parallel_tool_calls: Whether several calls are allowed.
        """
        if _server_value("grammar_backend") != "xgrammar":
            return None
        from xgrammar import StructuralTag

        text = structural_tag(
            self.format, tools or [], tool_choice, parallel=parallel_tool_calls, tokenizer=self._tokenizer
        )
        return None if text is None else StructuralTag.model_validate_json(text)

    def supports_structural_tag(self) -> bool:
        """Return False, so that SGLang does not build a tag of the older form from `structure_info`."""
        return False

    def structure_info(self) -> Any:
        """Never called (`supports_structural_tag`)."""
        raise NotImplementedError("toolfmt's parsers have no begin and end of a call (supports_structural_tag)")


def _server_value(name: str) -> str:
    """Return an argument of the server. Empty in a process that is not a server."""
    try:
        return str(getattr(get_server_args(), name))
    except ValueError:  # they are not set
        return ""


def _result(delta: Delta) -> Any:
    return StreamingParseResult(normal_text=delta.content, calls=[_item(**call) for call in delta.calls])


def _item(index: int, function: dict[str, str], **_: str) -> Any:
    return ToolCallItem(tool_index=index, name=function.get("name"), parameters=function["arguments"])


def register() -> None:
    """Register the parsers with SGLang, by name and by class."""
    for name, parser in parsers().items():
        detector = type(name, (ToolfmtDetector,), {"parser": parser})
        FunctionCallParser.ToolCallParserEnum[name] = detector
        if name not in TOOL_CALL_PARSER_NAMES:
            TOOL_CALL_PARSER_NAMES.append(name)
