"""toolfmt: the chat-template and tool-format toolkit for local language models.

Inspect a model, render tools through its template or into the system prompt, find its tool-call format, and stream its
output. Names are imported on first use, so `import toolfmt` is cheap and `toolfmt.formats` does not depend on the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolfmt._util.version import __version__

if TYPE_CHECKING:
    from toolfmt.agent import ToolRegistry, run, validator
    from toolfmt.errors import (
        BadFormat,
        BadMessages,
        BadModelDirectory,
        BadProfile,
        BadTools,
        BrokenPlugIn,
        CannotConstrain,
        CannotWrite,
        NoResponseTemplate,
        NotDelivered,
        RepeatedTool,
        TemplateError,
        ToolfmtError,
        UnknownFormat,
    )
    from toolfmt.formats import Parser, TokenParser, ToolCallFormat, WholeCalls, get, register, write
    from toolfmt.formats.parse import parse, parse_many
    from toolfmt.formats.serialization.files import format_from_file
    from toolfmt.formats.serialization.format_data import format_to_dict
    from toolfmt.grammars.grammar import Grammar, grammar
    from toolfmt.inspect.format.decision import infer
    from toolfmt.inspect.format.derive.derive import Derived
    from toolfmt.messages.events import (
        Content,
        Event,
        Reasoning,
        ToolCallArguments,
        ToolCallEnd,
        ToolCallRejected,
        ToolCallStart,
        merge,
    )
    from toolfmt.messages.message import CallIds, Message, ToolCall, taken_ids
    from toolfmt.model.conversation import Conversation
    from toolfmt.model.derive import derive
    from toolfmt.model.model import Model, load
    from toolfmt.render.prompt import Prompt
    from toolfmt.render.request.client_request import ClientRequest, read_request


_HOMES = {
    "Content": "toolfmt.messages.events",
    "Event": "toolfmt.messages.events",
    "Reasoning": "toolfmt.messages.events",
    "ToolCallArguments": "toolfmt.messages.events",
    "ToolCallEnd": "toolfmt.messages.events",
    "ToolCallRejected": "toolfmt.messages.events",
    "ToolCallStart": "toolfmt.messages.events",
    "merge": "toolfmt.messages.events",
    "BadFormat": "toolfmt.errors",
    "BadMessages": "toolfmt.errors",
    "BadModelDirectory": "toolfmt.errors",
    "BadProfile": "toolfmt.errors",
    "BadTools": "toolfmt.errors",
    "BrokenPlugIn": "toolfmt.errors",
    "CannotConstrain": "toolfmt.errors",
    "CannotWrite": "toolfmt.errors",
    "UnknownFormat": "toolfmt.errors",
    "CallIds": "toolfmt.messages.message",
    "ClientRequest": "toolfmt.render.request.client_request",
    "Conversation": "toolfmt.model.conversation",
    "Derived": "toolfmt.inspect.format.derive.derive",
    "Grammar": "toolfmt.grammars.grammar",
    "Message": "toolfmt.messages.message",
    "NoResponseTemplate": "toolfmt.errors",
    "NotDelivered": "toolfmt.errors",
    "Model": "toolfmt.model.model",
    "Parser": "toolfmt.formats",
    "Prompt": "toolfmt.render.prompt",
    "RepeatedTool": "toolfmt.errors",
    "TokenParser": "toolfmt.formats",
    "ToolCall": "toolfmt.messages.message",
    "ToolRegistry": "toolfmt.agent",
    "ToolCallFormat": "toolfmt.formats",
    "TemplateError": "toolfmt.errors",
    "ToolfmtError": "toolfmt.errors",
    "WholeCalls": "toolfmt.formats",
    "derive": "toolfmt.model.derive",
    "format_from_file": "toolfmt.formats.serialization.files",
    "format_to_dict": "toolfmt.formats.serialization.format_data",
    "get": "toolfmt.formats",
    "grammar": "toolfmt.grammars.grammar",
    "infer": "toolfmt.inspect.format.decision",
    "load": "toolfmt.model.model",
    "parse": "toolfmt.formats.parse",
    "parse_many": "toolfmt.formats.parse",
    "read_request": "toolfmt.render.request.client_request",
    "register": "toolfmt.formats",
    "run": "toolfmt.agent",
    "taken_ids": "toolfmt.messages.message",
    "validator": "toolfmt.agent",
    "write": "toolfmt.formats",
}

__all__ = [
    "BadFormat",
    "BadMessages",
    "BadModelDirectory",
    "BadProfile",
    "BadTools",
    "BrokenPlugIn",
    "CallIds",
    "CannotConstrain",
    "CannotWrite",
    "ClientRequest",
    "Content",
    "Conversation",
    "Derived",
    "Event",
    "Grammar",
    "Message",
    "Model",
    "NoResponseTemplate",
    "NotDelivered",
    "Parser",
    "Prompt",
    "Reasoning",
    "RepeatedTool",
    "TemplateError",
    "TokenParser",
    "ToolCall",
    "ToolCallArguments",
    "ToolCallEnd",
    "ToolCallFormat",
    "ToolCallRejected",
    "ToolCallStart",
    "ToolRegistry",
    "ToolfmtError",
    "UnknownFormat",
    "WholeCalls",
    "__version__",
    "derive",
    "format_from_file",
    "format_to_dict",
    "get",
    "grammar",
    "infer",
    "load",
    "merge",
    "parse",
    "parse_many",
    "read_request",
    "register",
    "run",
    "taken_ids",
    "validator",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'toolfmt' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
