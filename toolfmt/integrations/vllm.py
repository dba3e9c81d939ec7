"""vLLM's tool parsers, two a format: `toolfmt_<format>` tells whole calls, `toolfmt_<format>_streamed` what comes as
it comes, arguments too.

    vllm serve MODEL --enable-auto-tool-choice --tool-parser-plugin toolfmt.integrations.vllm \
        --tool-call-parser toolfmt_glm4

Importing the module registers them. Contract: vLLM 0.33.0, `vllm/tool_parsers/abstract_tool_parser.py` and
`vllm/parser/abstract_parser.py`, whose `DelegatingParser` makes a tool parser for each choice of an answer. Nothing is
kept in `prev_tool_call_arr`: vLLM would send again what it believes to have been left out there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

try:
    from vllm.entrypoints.generate.base.protocol import DeltaMessage, ExtractedToolCallInformation
    from vllm.renderers.chat_utils import make_tool_call_id
    from vllm.tool_parsers.abstract_tool_parser import ToolParser, ToolParserManager
    from vllm.tool_parsers.utils import get_function_tools
except ModuleNotFoundError as error:
    # vLLM would take this very error for a sign that a file is meant, and start without the parsers.
    raise ImportError(f"toolfmt.integrations.vllm needs vLLM 0.33 or a later one that is like it: {error}") from error

from toolfmt.formats import ToolCallFormat
from toolfmt.integrations.deltas import Delta, Deltas, parsers, whole
from toolfmt.messages.message import taken_ids

__all__ = ["ToolfmtToolParser"]


class ToolfmtToolParser(ToolParser):  # type: ignore[misc]  # vLLM is not there where types are checked
    """A tool parser of one format; vLLM takes a class for each."""

    format: ClassVar[ToolCallFormat]
    whole_calls: ClassVar[bool]
    supports_required_and_named = False
    """Required and named calls are read as the model writes them; vLLM then forces no JSON on it."""
    engine_based_streaming = True
    """vLLM hands over what is new alone, and asks for the rest at the end."""

    def __init__(self, tokenizer: Any, tools: Any = None) -> None:
        super().__init__(tokenizer, tools)
        self._deltas: Deltas | None = None

    def adjust_request(self, request: Any) -> Any:
        """Markers that are special tokens are part of calls, and nothing stands between two of them."""
        request = super().adjust_request(request)
        if _may_call(request):
            request.skip_special_tokens = request.spaces_between_special_tokens = False
        return request

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """A whole answer. What was rejected or cut is no call of it; what lacks nothing but closers is one."""
        delta = whole(self._reading(request, whole_calls=True), model_output)
        calls = [{"id": call["id"], "function": call["function"]} for call in delta.calls]
        return ExtractedToolCallInformation(tools_called=bool(calls), tool_calls=calls, content=delta.content or None)

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        """What is new of an answer; None where that is nothing yet."""
        if self._deltas is None:
            self._deltas = self._reading(request, whole_calls=self.whole_calls)
        return _message(self._deltas.feed(delta_text))

    def finish_streaming(self) -> Any:
        """What was held back of an answer that has ended. The next text that comes is another answer's."""
        deltas, self._deltas = self._deltas, None
        return None if deltas is None else _message(deltas.finish())

    def _reading(self, request: Any, *, whole_calls: bool) -> Deltas:
        messages = getattr(request, "messages", None)
        # Of a conversation of the Responses API a part may be the server's: ids that nobody has are unique in it.
        call_id = make_tool_call_id() + "-{number}" if messages is None else self.format.call_id
        return Deltas(
            self.format,
            # The tools that the model was shown: a Responses request also has custom and namespaced ones.
            get_function_tools(request.tools) if _may_call(request) else [],
            whole_calls=whole_calls,
            taken_ids=taken_ids(messages or ()),
            call_id=call_id,
        )


def _may_call(request: Any) -> bool:
    """Whether calls are told to the client. Where not, no tool is declared, and what looks like a call is content."""
    return bool(request.tools) and request.tool_choice not in (None, "none")


def _message(delta: Delta) -> Any:
    # What is not set is not sent either: clients stumble over keys that are null.
    told = {key: value for key, value in (("content", delta.content), ("tool_calls", delta.calls)) if value}
    return DeltaMessage(**told) if told else None


for _name, _format, _whole_calls in parsers():
    _parser = type(_name, (ToolfmtToolParser,), {"format": _format, "whole_calls": _whole_calls})
    ToolParserManager.register_module(_name, module=_parser)
