"""toolfmt: the chat-template and tool-format toolkit for local language models.

Inspect a model, render tools through its template or as prose, find its tool-call format, stream its output.
Names are handed out when they are first used, so that `import toolfmt` costs nothing and `toolfmt.formats` stands
alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolfmt.calling import ToolRegistry, run
    from toolfmt.conversation import Conversation
    from toolfmt.deriving import derive
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
    from toolfmt.events import (
        Content,
        Event,
        Reasoning,
        ToolCallArguments,
        ToolCallEnd,
        ToolCallRejected,
        ToolCallStart,
        merge,
    )
    from toolfmt.formats import Parser, ToolCallFormat, WholeCalls, get, register, write
    from toolfmt.formats.format_files import format_from_file
    from toolfmt.grammars.grammar import Grammar, grammar
    from toolfmt.inspect.derivation.derive import Derived
    from toolfmt.inspect.inference.decision import infer
    from toolfmt.message import CallIds, Message, ToolCall, taken_ids
    from toolfmt.model import Model, load
    from toolfmt.parsing import parse, parse_many
    from toolfmt.render.client_request import ClientRequest, read_request
    from toolfmt.render.prompt import Prompt

__version__ = "0.1.0"

_HOMES = {
    "Content": "toolfmt.events",
    "Event": "toolfmt.events",
    "Reasoning": "toolfmt.events",
    "ToolCallArguments": "toolfmt.events",
    "ToolCallEnd": "toolfmt.events",
    "ToolCallRejected": "toolfmt.events",
    "ToolCallStart": "toolfmt.events",
    "merge": "toolfmt.events",
    "BadFormat": "toolfmt.errors",
    "BadMessages": "toolfmt.errors",
    "BadModelDirectory": "toolfmt.errors",
    "BadProfile": "toolfmt.errors",
    "BadTools": "toolfmt.errors",
    "BrokenPlugIn": "toolfmt.errors",
    "CannotConstrain": "toolfmt.errors",
    "CannotWrite": "toolfmt.errors",
    "UnknownFormat": "toolfmt.errors",
    "CallIds": "toolfmt.message",
    "ClientRequest": "toolfmt.render.client_request",
    "Conversation": "toolfmt.conversation",
    "Derived": "toolfmt.inspect.derivation.derive",
    "Grammar": "toolfmt.grammars.grammar",
    "Message": "toolfmt.message",
    "NoResponseTemplate": "toolfmt.errors",
    "NotDelivered": "toolfmt.errors",
    "Model": "toolfmt.model",
    "Parser": "toolfmt.formats",
    "Prompt": "toolfmt.render.prompt",
    "RepeatedTool": "toolfmt.errors",
    "ToolCall": "toolfmt.message",
    "ToolRegistry": "toolfmt.calling",
    "ToolCallFormat": "toolfmt.formats",
    "TemplateError": "toolfmt.errors",
    "ToolfmtError": "toolfmt.errors",
    "WholeCalls": "toolfmt.formats",
    "derive": "toolfmt.deriving",
    "format_from_file": "toolfmt.formats.format_files",
    "get": "toolfmt.formats",
    "grammar": "toolfmt.grammars.grammar",
    "infer": "toolfmt.inspect.inference.decision",
    "load": "toolfmt.model",
    "parse": "toolfmt.parsing",
    "parse_many": "toolfmt.parsing",
    "read_request": "toolfmt.render.client_request",
    "register": "toolfmt.formats",
    "run": "toolfmt.calling",
    "taken_ids": "toolfmt.message",
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
