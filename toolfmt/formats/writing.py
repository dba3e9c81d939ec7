"""Write calls as a model would, and verify that the format's parser returns the same calls.

`CannotWrite` names what a format cannot represent, such as its end marker inside a raw string, or a key that would need
quotes. Such a value is never written as text that would be parsed differently.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolfmt.errors import CannotWrite, json_fault
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.parser.parser import Parser
from toolfmt.formats.registry import resolved
from toolfmt.formats.tolerances import OF_THE_FORMAT
from toolfmt.formats.values.layout import Call, TypesOf
from toolfmt.formats.values.schema_types import Types, parameter_types
from toolfmt.messages.events import Content, Reasoning, ToolCallArguments, ToolCallEnd, ToolCallRejected, ToolCallStart
from toolfmt.messages.tools import counting_tools, kind_of, tool_schemas


def write(format: str | ToolCallFormat, calls: Sequence[Call], tools: object = None) -> str:
    """Return the text in which a model makes these calls.

    The calls are byte for byte as the templates of the model family write them.

    Args:
        format: A format or its name.
        calls: Pairs of a tool's name and its arguments.
        tools: Tool definitions. Their schemas decide how values are written.

    Raises:
        CannotWrite: The format's own parser would not return a call unchanged.
        UnknownFormat: There is no format of this name.
        BadTools: The tool definitions are not valid.
    """
    known = resolved(format)
    if not isinstance(calls, (list, tuple)):
        raise CannotWrite(f"calls must be a list of pairs of name and arguments, not {kind_of(calls)}")
    checked = [_checked(call, position) for position, call in enumerate(calls)]
    if not checked:
        return ""
    tools = counting_tools(tools)
    schemas = None if tools is None else tool_schemas(tools)
    for position, (name, _) in enumerate(checked):
        if schemas is not None and name not in schemas:
            raise CannotWrite(
                f"{known.name}: calls[{position}]: no tool named {name!r} is declared; declare it or pass no tools"
            )

    def types(name: str, *path: str) -> Types:
        return None if schemas is None else parameter_types(schemas.get(name, {}), *path)

    try:
        text = known.writer.write(checked, types)
        if read_back(known, text, tools) != [_canonical(name, arguments) for name, arguments in checked]:
            raise CannotWrite(_why_not(known, checked, types, tools))
    except RecursionError:
        raise CannotWrite(f"{known.name}: the arguments contain lists or objects that are nested too deeply") from None
    return text


def read_back(format: ToolCallFormat, text: str, tools: object = None) -> list[tuple[str, str]] | None:
    """Return the calls of a text that contains nothing else, in canonical form. None for any other text.

    Args:
        format: The format.
        text: The text to parse.
        tools: Tool definitions, as for `Parser`.

    Returns:
        Pairs of a tool's name and its arguments as JSON with sorted keys.
    """
    parser = Parser(format, tools=tools, tolerate=OF_THE_FORMAT)
    names: list[str] = []
    arguments: list[str] = []
    for event in [*parser.feed(text), *parser.finish()]:
        if isinstance(event, ToolCallStart):
            names.append(event.name)
            arguments.append("")
        elif isinstance(event, ToolCallArguments):
            arguments[-1] += event.delta
        elif isinstance(event, ToolCallEnd):
            continue
        elif isinstance(event, (Content, Reasoning, ToolCallRejected)):
            return None
    try:
        return [_canonical(name, json.loads(text)) for name, text in zip(names, arguments, strict=True)]
    except ValueError:  # an integer with more digits than Python parses
        return None


def _checked(call: object, position: int) -> Call:
    if not isinstance(call, (tuple, list)) or len(call) != 2:
        raise CannotWrite(f"calls[{position}]: a call must be a pair of name and arguments, not {call!r:.80}")
    name, arguments = call
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        raise CannotWrite(f"calls[{position}]: the name must be a string and the arguments an object")
    try:
        if json.loads(json.dumps(arguments, allow_nan=False)) != arguments:
            raise ValueError("it contains a value that JSON cannot represent")
    except (TypeError, ValueError, RecursionError) as error:
        raise CannotWrite(f"calls[{position}] ({name}): the arguments are not JSON: {json_fault(error)}") from None
    return name, dict(arguments)


def _canonical(name: str, arguments: Any) -> tuple[str, str]:
    return name, json.dumps(arguments, sort_keys=True)


def _why_not(format: ToolCallFormat, calls: Sequence[Call], types: TypesOf, tools: object) -> str:
    """Return an error message that names what the format cannot represent, as specifically as possible."""

    def survives(name: str, arguments: dict[str, Any], types: TypesOf, tools: object) -> bool:
        text = format.writer.write([(name, arguments)], types)
        return read_back(format, text, tools) == [_canonical(name, arguments)]

    for position, (name, arguments) in enumerate(calls):
        where = f"{format.name} cannot represent calls[{position}]"
        if not survives(name, {}, types, tools):
            return f"{where}: the name {name!r} would not survive a round trip"
        for key, value in arguments.items():
            if not survives(name, {key: 0}, lambda name, *path: None, None):
                return f"{where}: the key {key!r} would not survive a round trip"
            if not survives(name, {key: value}, types, tools):
                shown = json.dumps(value, ensure_ascii=False)[:80]
                return f"{where}: the argument {key!r} of {name!r}, {shown}, would not survive a round trip"
    return f"{format.name} cannot represent these calls together: they would not survive a round trip"
