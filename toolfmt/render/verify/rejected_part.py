"""Which part of a request a template rejects: the message, or the tool and its parameter, by rendering parts of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from toolfmt.errors import TemplateError
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.render.request.messages import Message
from toolfmt.templates import ChatTemplate

Rejects: TypeAlias = Callable[[Sequence[Message], list[Message] | None], bool]
"""Returns whether the template rejects these messages and tools with the same error."""
_MISSING_VARIABLE = re.compile(r"UndefinedError: '(\w+)' is undefined")


def locate(
    rejection: TemplateError, messages: Sequence[Message], tools: list[Message] | None, rejects: Rejects
) -> TemplateError:
    """Return the error with the part of the request that causes it, if one part does."""
    return _in_tool(rejection, messages, tools, rejects) or _in_message(rejection, messages, tools, rejects)


def _in_message(
    rejection: TemplateError, messages: Sequence[Message], tools: list[Message] | None, rejects: Rejects
) -> TemplateError:
    """The error with the first message from which on the conversation is rejected."""
    accepted, rejected = 0, len(messages)
    while rejected - accepted > 1:
        middle = (accepted + rejected) // 2
        if rejects(messages[:middle], tools):
            rejected = middle
        else:
            accepted = middle
    if not accepted:
        return rejection  # the template may reject the conversation as a whole
    where = f"messages[{rejected - 1}] ({messages[rejected - 1]['role']})"
    return _with_text(rejection, f"{where}: {rejection}")


def _in_tool(
    rejection: TemplateError, messages: Sequence[Message], tools: list[Message] | None, rejects: Rejects
) -> TemplateError | None:
    """The error with the tool, and if known the parameter, that the template rejects; None if it is not a tool.

    The template rejects this tool alone, but not a tool of the same name with nothing in it.
    """
    for position, tool in enumerate(tools or ()):
        name, schema = tool["function"]["name"], tool["function"].get("parameters") or {}
        if not rejects(messages, [tool]) or rejects(messages, [_bare_tool(name, {})]):
            continue
        properties = schema.get("properties")
        listed = properties.items() if isinstance(properties, Mapping) else ()
        parameter = next((key for key, inner in listed if rejects(messages, [_bare_tool(name, {key: inner})])), None)
        where = f"tools[{position}] ({name})" + (f", the parameter {parameter}" if parameter else "")
        return _with_text(rejection, f"{where}: {rejection}; change the definition, or leave the tool out")
    return None


def _bare_tool(name: str, properties: Message) -> Message:
    """A tool with these parameters and nothing else."""
    parameters = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


def with_missing_variable(error: TemplateError, template: ChatTemplate, profile: TemplateProfile) -> TemplateError:
    """Return the error with the way to pass the variable that the template lacks, if it reads an undefined one.

    A template file alone does not contain the special tokens of its model.
    """
    missing = _MISSING_VARIABLE.fullmatch(error.engine_message) if error.kind == "not-rendered" else None
    name = missing[1] if missing else ""
    if name not in profile.variables or re.search(rf"\b{name}\s*\(", template.source):
        return error  # a function cannot be passed
    way_out = f'give the template what the model has there: --var {name}=\'"…"\', or {name}="…" in Python'
    return _with_text(error, f"{error}; {way_out}")


def _with_text(error: TemplateError, text: str) -> TemplateError:
    return TemplateError(text, error.line, error.kind, error.engine_message)
