"""The grammar of a whole output: what may precede the calls, then only calls that the tools allow."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from toolfmt.errors import CannotConstrain
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.grammar.constraint import ConstrainedTool, Constraint, constrained_calls
from toolfmt.formats.grammar.raw_values import MARKERS_IN_TEXTS
from toolfmt.formats.grammar.schemas import NotConstrained
from toolfmt.formats.parser.parser import Parser
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.formats.values.layout import Call
from toolfmt.formats.values.nodes import (
    EMPTY,
    Either,
    FreeText,
    Maybe,
    Node,
    Pattern,
    RawText,
    Repeated,
    Row,
    Rules,
    Text,
    either,
    inner_nodes,
    maybe,
    row,
)
from toolfmt.messages.events import Reasoning, ToolCallArguments, ToolCallEnd, ToolCallRejected, ToolCallStart
from toolfmt.messages.tools import tool_schemas

_MESSAGE_ROLE = "assistant"
"""Part of each marker that starts another message in the same output."""
_WHITESPACE = "[ \\t\\r\\n]{1,4}"
"""Between reasoning and calls. It is bounded because a model may write whitespace forever."""
_UNFRAMED_JSON = '{"name"'
"""The start of a call without its frame, for formats that parse such calls."""
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
"""Names that every format can write."""
_TOLERANCES_OF_VARIANTS = frozenset({"missing_opener", "missing_separator"})
"""Tolerances that parsing reports for what some variants write."""
_MIN_MARKER_LENGTH = 4
"""A start marker of at least this many characters does not appear in text by accident."""


@dataclass(frozen=True)
class AnswerGrammar:
    """The grammar of an output.

    Attributes:
        calls: The calls.
        reasoning: What may precede them and the text.
        text: The text that may take the place of calls. None if there must be calls.
        trigger: The text that begins calls, which may then follow the text. Empty if calls may only take its place.
    """

    calls: Rules
    reasoning: Node = EMPTY
    text: FreeText | None = None
    trigger: str = ""

    @property
    def rules(self) -> Rules:
        """The whole output."""
        calls = self.calls.start
        if self.text is not None and self.trigger:
            before = RawText(self.trigger, self.text.without[1:])
            calls = either(row(before, after_start(calls, self.trigger)), self.text)
        elif self.text is not None:
            calls = either(calls, self.text)
        return replace(self.calls, start=row(self.reasoning, calls))


def answer_grammar(
    format: ToolCallFormat, tools: object, *, choice: str = "auto", parallel: bool = True, prefix: str = ""
) -> AnswerGrammar:
    """Return the grammar of the outputs that the tools allow in a format.

    Args:
        format: The format in which calls are written.
        tools: The tool definitions.
        choice: `auto` (text, optionally followed by calls), `required` (calls), or the name of the tool to call.
        parallel: Whether several calls are allowed.
        prefix: The end of the prompt, which may have started the reasoning or the calls.

    Raises:
        CannotConstrain: The format, a tool or its arguments have no grammar.
        BadTools: The tool definitions are not valid.
    """
    one_call = parallel and _parses_one_call_only(format)
    constraint = Constraint(
        format.name,
        _allowed_tools(format, tools, choice),
        parallel and not one_call,
        strips_newlines=not _survives_round_trip(format, "f", {"a": "\na"}),
    )
    calls = constrained_calls(format.writer, constraint)
    reasoning = _reasoning(format, prefix)
    output_start = answer_prefix(prefix, format.markers.output_starts, format.headers, format.reasoning_read)
    started = _started_call(format, output_start)
    limits = {
        "declared-keys": any(map(_allows_other_arguments, constraint.tools)),
        MARKERS_IN_TEXTS: any(map(_excludes_markers, (calls, *constraint.rules.values()))),
        "one-call": one_call,
    }
    narrower = tuple(sorted({*constraint.narrower, *(name for name, holds in limits.items() if holds)}))

    if started and not begins_with(calls, started):
        started = started.rstrip()  # this whitespace is the prompt's, not the format's
    if started and begins_with(calls, started):
        return AnswerGrammar(Rules(after_start(calls, started), constraint.rules, narrower))
    text, trigger = None, ""
    if choice == "auto":
        trigger = _start_marker(format, calls)
        text = _text_before(format, trigger) if trigger else _text_instead(format, calls)
    elif not output_start.strip() and (marker := _start_marker(format, calls)):
        reasoning = _or_whitespace(reasoning)
        if prefix.rstrip().endswith(marker):  # it is also the header of each message
            calls = either(after_start(calls, marker), calls)
    return AnswerGrammar(Rules(calls, constraint.rules, narrower), reasoning, text, trigger)


def _allowed_tools(format: ToolCallFormat, tools: object, choice: str) -> tuple[ConstrainedTool, ...]:
    """Return the tools that may be called. Raises `CannotConstrain` if there are none, or for an unknown `choice`."""
    schemas = tool_schemas(tools)
    if choice not in ("auto", "required"):
        if choice not in schemas:
            raise CannotConstrain(
                f"no tool named {choice!r} is declared; declared tools: {', '.join(schemas) or 'none'}"
            )
        schemas = {choice: schemas[choice]}
    if not schemas:
        raise CannotConstrain(f"the format {format.name} has no grammar without tools: there is nothing to call")
    found = tuple(ConstrainedTool(name, schema, f"t{at}") for at, (name, schema) in enumerate(schemas.items()))
    for tool in found:
        _check_names(format, tool)
    return found


def _check_names(format: ToolCallFormat, tool: ConstrainedTool) -> None:
    """Raise `CannotConstrain` for a name or a key that does not survive writing and parsing in this format."""
    where = f"the format {format.name} has no grammar for"
    try:
        json.dumps([tool.name, tool.schema], ensure_ascii=False).encode()
        keys = {key for shape in tool.shapes for key in shape.properties if not _IDENTIFIER.fullmatch(str(key))}
    except NotConstrained:
        return  # the engine's grammar raises an error with the path
    except RecursionError:
        raise CannotConstrain(f"{where} the arguments of {tool.name!r}: they are nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise CannotConstrain(f"{where} {tool.name!r}: its definition is not valid JSON: {error}") from None
    if not _IDENTIFIER.fullmatch(tool.name) and not _survives_round_trip(format, tool.name, {}):
        raise CannotConstrain(f"{where} the tool {tool.name!r}: its name would not survive a round trip")
    for key in sorted(keys):
        if not _survives_round_trip(format, tool.name, {str(key): 0}):
            raise CannotConstrain(
                f"{where} the argument {key!r} of {tool.name!r}: its key would not survive a round trip"
            )


def _survives_round_trip(format: ToolCallFormat, name: str, arguments: Mapping[str, int | str]) -> bool:
    """Whether a call with such arguments is parsed as that call if the format writes it."""
    types = {key: "string" if isinstance(value, str) else "integer" for key, value in arguments.items()}
    properties = {key: {"type": type} for key, type in types.items()}
    tools = [{"name": name, "parameters": {"type": "object", "properties": properties}}]
    text = format.writer.write([(name, arguments)], lambda tool, *path: frozenset({types[path[0]]}))
    names, arguments_json, failed = [], "", False
    parser = Parser(format, tools=tools)
    for event in [*parser.feed(text), *parser.finish()]:
        if isinstance(event, ToolCallStart):
            names.append(event.name)
        elif isinstance(event, ToolCallArguments):
            arguments_json += event.delta
        elif isinstance(event, ToolCallEnd):
            failed = failed or bool(set(event.tolerated) - _TOLERANCES_OF_VARIANTS)
        else:
            failed = True
    return not failed and names == [name] and json.loads(arguments_json) == arguments


def _parses_one_call_only(format: ToolCallFormat) -> bool:
    """Whether strict parsing accepts one call as the format writes it, but not several."""

    def strictly(calls: list[Call]) -> bool:
        parser = Parser(format, tools=[{"name": "f"}], strict=True)
        text = format.writer.write(calls, lambda name, *path: None)
        return not any(isinstance(event, ToolCallRejected) for event in [*parser.feed(text), *parser.finish()])

    return strictly([("f", {})]) and not strictly([("f", {}), ("f", {})])


def _excludes_markers(node: Node) -> bool:
    """Whether a text in the node must not contain a marker that the format's writer could write there."""
    return (isinstance(node, RawText) and bool(node.never)) or any(map(_excludes_markers, inner_nodes(node)))


def _allows_other_arguments(tool: ConstrainedTool) -> bool:
    """Whether the schema declares arguments and allows others."""
    return bool(tool.schema.get("properties")) and tool.schema.get("additionalProperties", False) is not False


def _started_call(format: ToolCallFormat, output_start: str) -> str:
    """Return the part of a call that the prompt ends with: its start marker and the whitespace after it.

    Args:
        format: The format of the calls.
        output_start: The part of the output that the prompt contains.
    """
    started = output_start.rstrip()
    starts = [
        start
        for start in map(str.rstrip, format.openers)
        if started == start or (started.endswith(start) and len(start) >= _MIN_MARKER_LENGTH)
    ]
    start = max(starts, key=len, default="")
    return start and start + output_start[len(started) :]


def _reasoning(format: ToolCallFormat, prefix: str) -> Node:
    """Return the reasoning block at the start of the output, which is optional.

    If the prompt has opened the block, return the rest of it, which is required.
    """
    blocks: dict[str, list[str]] = {}
    for start, end in format.reasoning:
        blocks.setdefault(start, []).append(end)
    if not blocks:
        return EMPTY
    if _starts_in_reasoning(format, prefix):
        started = max((start for start in blocks if start in prefix), key=len, default=next(iter(blocks)))
        return _rest_of_reasoning(format, blocks[started])
    return maybe(either(*(row(start, _rest_of_reasoning(format, ends)) for start, ends in blocks.items())))


def _or_whitespace(reasoning: Node) -> Node:
    """Allow whitespace instead of reasoning: models of several families write it before calls."""
    whitespace = Pattern(_WHITESPACE)
    if isinstance(reasoning, Maybe):
        return Maybe(either(whitespace, reasoning.part))
    return reasoning if reasoning != EMPTY else maybe(whitespace)


def _rest_of_reasoning(format: ToolCallFormat, ends: Sequence[str]) -> Node:
    """Return reasoning with its end marker. In some formats, a start marker of another message may follow."""
    next_message = [marker for marker in format.ignored_markers if _MESSAGE_ROLE in marker]
    never = dict.fromkeys((*ends[1:], *format.ignored_markers, *_excluded_from_text(format)))
    text = RawText(ends[0], tuple(mark for mark in never if not _overlaps(mark, ends[0])))
    return row(text, maybe(Pattern(_WHITESPACE)), maybe(either(*next_message)) if next_message else EMPTY)


def _starts_in_reasoning(format: ToolCallFormat, prefix: str) -> bool:
    """Whether an output after this prompt begins inside of a reasoning block."""
    parser = Parser(format, prefix=prefix)
    return any(isinstance(event, Reasoning) for event in [*parser.feed("a\n\na"), *parser.finish()])


def _start_marker(format: ToolCallFormat, calls: Node) -> str:
    """Return the longest start marker of the format with which every call begins. Empty if there is none."""
    return max((start for start in format.openers if start and begins_with(calls, start)), key=len, default="")


def _text_before(format: ToolCallFormat, start: str) -> FreeText:
    """Return text without the start marker `start` of the calls, and without any other marker of calls.

    A marker that is a part of `start` is excluded from the text, too: only `start` itself may contain it.
    """
    return FreeText((start, *(other for other in _excluded_from_text(format) if start not in other)))


def _text_instead(format: ToolCallFormat, calls: Node) -> FreeText:
    """Return text that does not begin with the first character of a call, for calls without a start marker."""
    character = _common_prefix(list(first_texts(calls)))[:1]
    if not character or character.isalnum():
        raise CannotConstrain(
            f"a call in the format {format.name} starts with just the tool's name, so no grammar can distinguish it "
            "from text; choose 'required' or a tool"
        )
    return FreeText(_excluded_from_text(format), not_first=character)


def _excluded_from_text(format: ToolCallFormat) -> tuple[str, ...]:
    """Return the markers of calls and of reasoning: after one of them, the output may not be parsed as text."""
    inner, engine = format.engine.inner, format.engine
    calls = (*engine.openers, *engine.closers, *engine.unframed_openers, *inner.openers, *inner.closers)
    calls += tuple(_name_separators(engine))
    unframed = (_UNFRAMED_JSON,) if "{" in engine.unframed_openers else ()
    marks = (*calls, *(start for start, _ in format.reasoning), *unframed)
    return tuple(dict.fromkeys(mark for mark in marks if len(mark.strip()) >= _MIN_MARKER_LENGTH))


def _name_separators(engine: object) -> Iterator[str]:
    """Yield the separators after a name for engines that parse a call without its start marker.

    Only the separator distinguishes such a call from text.
    """
    for one in (engine, *getattr(engine, "engines", ())):
        if isinstance(one, NamedJson) and one.name_at_start == "tolerated":
            yield from (separator.strip() for separator in (one.separator, *one.also_separators))


def _overlaps(other: str, start: str) -> bool:
    """Whether one of the markers contains the other.

    If `other` contains `start`, it needs no exclusion of its own. If it is a part of `start`, it must not be excluded.
    """
    return start in other or other in start


# --- what a node begins with


def first_texts(node: Node) -> Iterator[str]:
    """Yield the texts that a node may begin with, as far as they are fixed. Empty if a beginning is not."""
    match node:
        case Text(text):
            yield text
        case Row(parts):
            yield from first_texts(parts[0])
        case Either(parts):
            for part in parts:
                yield from first_texts(part)
        case Repeated(part):
            yield from first_texts(part)
        case _:
            yield ""


def begins_with(node: Node, start: str) -> bool:
    return all(text.startswith(start) for text in first_texts(node))


def _common_prefix(texts: list[str]) -> str:
    first, last = min(texts), max(texts)
    at = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:at]


def after_start(node: Node, start: str) -> Node:
    """Return a node that begins with `start` without that text."""
    match node:
        case Text(text):
            return Text(text.removeprefix(start))
        case Row(parts):
            return row(after_start(parts[0], start), *parts[1:])
        case Either(parts):
            return either(*(after_start(part, start) for part in parts))
        case Repeated(part, separator, least, most):
            more = Repeated(row(separator, part), EMPTY, max(least - 1, 1), None if most is None else most - 1)
            rest = EMPTY if most == 1 else more if least > 1 else maybe(more)
            return row(after_start(part, start), rest)
    raise AssertionError(f"nothing but {node!r} begins with {start!r}")
