"""The smallest stand-ins for what the adapters use from vLLM and SGLang, with the packages' own names.

They are here for the adapters' own logic on machines without the packages: base classes with the fields that a server
reads, a registry, and the returned values, which have only fields that the real ones have. They do not show how a
server uses a parser; `python -m benchmarks.runtime_parsers` runs the packages themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from types import ModuleType
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    model_config = ConfigDict(extra="forbid")


class StructuralTag(Value):
    """XGrammar's, which both servers compile."""

    type: str
    format: dict[str, Any]


# --- vLLM 0.33.0: vllm/entrypoints/generate/base/protocol.py


class FunctionCall(Value):
    id: str | None = None
    name: str
    arguments: str


class CalledTool(Value):
    id: str
    type: str = "function"
    function: FunctionCall


class DeltaFunctionCall(Value):
    name: str | None = None
    arguments: str | None = None


class DeltaToolCall(Value):
    id: str | None = None
    type: str | None = None
    index: int
    function: DeltaFunctionCall | None = None


class DeltaMessage(Value):
    role: str | None = None
    content: str | None = None
    reasoning: str | None = None
    tool_calls: list[DeltaToolCall] = []


class ExtractedToolCallInformation(Value):
    tools_called: bool
    tool_calls: list[CalledTool]
    content: str | None = None


class Function(Value):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Tool(Value):
    type: str = "function"
    function: Function


class ChatCompletionRequest(Value):
    model: str
    messages: list[dict[str, Any]]
    tools: list[Tool] | None = None
    tool_choice: Any = "none"
    parallel_tool_calls: bool | None = True
    skip_special_tokens: bool | None = None
    spaces_between_special_tokens: bool = True
    include_stop_str_in_output: bool = False


class FunctionTool(Value):
    type: str
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class ResponsesRequest(Value):
    model: str
    input: str
    tools: list[FunctionTool] = []
    tool_choice: str = "auto"
    skip_special_tokens: bool | None = None
    spaces_between_special_tokens: bool = True
    include_stop_str_in_output: bool = False


class ToolParser:
    supports_required_and_named = True
    engine_based_streaming = False

    def __init__(self, tokenizer: Any, tools: Any = None) -> None:
        self.model_tokenizer = tokenizer
        self.prev_tool_call_arr: list[dict[str, Any]] = []
        self.streamed_args_for_tool: list[str] = []

    def adjust_request(self, request: Any) -> Any:
        return request


class ToolParserManager:
    tool_parsers: ClassVar[dict[str, Any]] = {}
    lazy_parsers: ClassVar[dict[str, tuple[str, str]]] = {}

    @classmethod
    def register_module(cls, name: str, force: bool = True, module: Any = None) -> None:
        cls.tool_parsers[name] = module

    @classmethod
    def register_lazy_module(cls, name: str, module_path: str, class_name: str) -> None:
        cls.lazy_parsers[name] = (module_path, class_name)

    @classmethod
    def get_tool_parser(cls, name: str) -> Any:
        return cls.tool_parsers[name]


_made = count()
VLLM: dict[str, dict[str, Any]] = {
    "xgrammar": {"StructuralTag": StructuralTag},
    "vllm.envs": {"VLLM_ENFORCE_STRICT_TOOL_CALLING": True},
    "vllm.entrypoints.generate.base.protocol": {
        "DeltaMessage": DeltaMessage,
        "ExtractedToolCallInformation": ExtractedToolCallInformation,
    },
    "vllm.entrypoints.openai.chat_completion.protocol": {"ChatCompletionRequest": ChatCompletionRequest},
    "vllm.entrypoints.openai.responses.protocol": {"ResponsesRequest": ResponsesRequest},
    "vllm.renderers.chat_utils": {"make_tool_call_id": lambda: f"chatcmpl-tool-{next(_made)}"},
    "vllm.tool_parsers.abstract_tool_parser": {"ToolParser": ToolParser, "ToolParserManager": ToolParserManager},
    "vllm.tool_parsers.utils": {"get_function_tools": list},
}


# --- SGLang 0.5.23: sglang/srt/function_call


class BaseFormatDetector:
    def __init__(self) -> None:
        self.prev_tool_call_arr: list[dict[str, Any]] = []
        self.streamed_args_for_tool: list[str] = []


class ToolCallItem(Value):
    tool_index: int
    name: str | None = None
    parameters: str


class StreamingParseResult(Value):
    normal_text: str = ""
    calls: list[ToolCallItem] = []


class FunctionCallParser:
    ToolCallParserEnum: ClassVar[dict[str, Any]] = {}


def get_server_args() -> Any:
    raise ValueError("Global server args is not set yet!")


SGLANG: dict[str, dict[str, Any]] = {
    "xgrammar": {"StructuralTag": StructuralTag},
    "sglang.srt.entrypoints.openai.protocol": {"Tool": Tool},
    "sglang.srt.function_call.base_format_detector": {"BaseFormatDetector": BaseFormatDetector},
    "sglang.srt.function_call.core_types": {
        "StreamingParseResult": StreamingParseResult,
        "ToolCallItem": ToolCallItem,
    },
    "sglang.srt.function_call.function_call_parser": {"FunctionCallParser": FunctionCallParser},
    "sglang.srt.function_call.parser_names": {"TOOL_CALL_PARSER_NAMES": []},
    "sglang.srt.runtime_context": {"get_server_args": get_server_args},
}


@contextmanager
def adaptor(name: str, placeholders: dict[str, dict[str, Any]]) -> Iterator[ModuleType]:
    """An adapter, imported with the package that it serves, or with the stand-ins if that is not installed."""
    if find_spec(next(reversed(placeholders)).partition(".")[0]) is not None:
        yield import_module(name)
        return
    before = set(sys.modules)
    try:
        for path, held in placeholders.items():
            parts = path.split(".")
            for end in range(1, len(parts) + 1):
                sys.modules.setdefault(".".join(parts[:end]), ModuleType(".".join(parts[:end])))
            vars(sys.modules[path]).update(held)
        yield import_module(name)
    finally:
        for made in {path for path in sys.modules if path.startswith(("vllm", "sglang", "xgrammar", name))} - before:
            del sys.modules[made]
