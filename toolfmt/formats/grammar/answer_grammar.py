"""The grammar of a whole answer: what may stand before the calls, and then only calls that the tools allow."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolfmt.errors import CannotConstrain
from toolfmt.formats.engines.engine import Call
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.grammar.calls import grammar_of
from toolfmt.formats.grammar.constraint import ConstrainedTool, Constraint
from toolfmt.formats.grammar.nodes import (
    EMPTY,
    Either,
    FreeText,
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
from toolfmt.formats.grammar.schemas import NotConstrained
from toolfmt.formats.parser.parser import Parser
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.messages.events import Reasoning, ToolCallArguments, ToolCallEnd, ToolCallRejected, ToolCallStart
from toolfmt.messages.tools import tool_schemas

_OF_ANOTHER_MESSAGE = "assistant"
"""What the markers hold that open another message of the same answer."""
_BLANKS = "[ \\t\\r\\n]{1,4}"
"""Between reasoning and calls; without a bound a model may write them for ever."""
_UNFRAMED_JSON = '{"name"'
"""With what a call without its frame begins, where such are read."""
_PLAIN = re.compile("[A-Za-z_][A-Za-z0-9_]*")
"""Names that every format carries."""
_OF_VARIANTS = frozenset({"missing_opener", "missing_separator"})
"""What the reader notes of some variants as they are written."""
_CONTROL = 4
"""An opener at least so long is a marker that no text holds by chance."""


@dataclass(frozen=True)
class AnswerGrammar:
    """The rules; and where the answer is text until a trigger stands there, that trigger and the rules from it on."""

    rules: Rules
    triggers: tuple[str, ...] = ()
    calls: Rules | None = None


def answer_grammar(
    format: ToolCallFormat, tools: object, *, choice: str = "auto", parallel: bool = True, prefix: str = ""
) -> AnswerGrammar:
    """The answers that the tools allow in a format.

    `choice` is `auto` (text, and then perhaps calls), `required` (calls), or the name of the tool that is to be called;
    `parallel` allows several calls; `prefix` is the tail of the prompt, which may have opened the reasoning, or the
    calls. Raises `CannotConstrain` and `BadTools`.
    """
    one_only = parallel and _reads_one_only(format)
    constraint = Constraint(format.name, _callable(format, tools, choice), parallel and not one_only)
    calls = grammar_of(format.writer, constraint)
    reasoning = _reasoning(format, prefix)
    begun = _begun(format, prefix)
    limits = {
        "declared-keys": any(map(_takes_others, constraint.tools)),
        "markers-in-texts": any(map(_keeps_markers_out, (calls, *constraint.rules.values()))),
        "one-call": one_only,
    }
    narrower = tuple(sorted({*constraint.narrower, *(name for name, holds in limits.items() if holds)}))

    def rules(start: Node) -> Rules:
        return Rules(start, constraint.rules, narrower)

    if begun and not begins_with(calls, begun):
        begun = begun.rstrip()  # the blanks are the prompt's own
    if begun and begins_with(calls, begun):
        return AnswerGrammar(rules(behind(calls, begun)))
    if choice != "auto":
        return AnswerGrammar(rules(row(reasoning, calls)))
    if opener := _opener(format, calls):
        perhaps = _text_and_calls(format, calls, opener)
        return AnswerGrammar(rules(row(reasoning, perhaps)), (opener,), rules(calls))
    return AnswerGrammar(rules(row(reasoning, _by_first_sign(format, calls))))


def _callable(format: ToolCallFormat, tools: object, choice: str) -> tuple[ConstrainedTool, ...]:
    """The tools that may be called."""
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
    """Raises `CannotConstrain` for a name or a key that the format has no way to write, so that its reader gets it."""
    where = f"the format {format.name} has no grammar for"
    try:
        json.dumps([tool.name, tool.schema], ensure_ascii=False).encode()
        keys = {key for shape in tool.shapes for key in shape.properties if not _PLAIN.fullmatch(str(key))}
    except NotConstrained:
        return  # the engine tells it
    except RecursionError:
        raise CannotConstrain(f"{where} the arguments of {tool.name!r}: they are nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise CannotConstrain(f"{where} {tool.name!r}: its definition is not valid JSON: {error}") from None
    if not _PLAIN.fullmatch(tool.name) and not _comes_back(format, tool.name, {}):
        raise CannotConstrain(f"{where} the tool {tool.name!r}: its name would not survive a round trip")
    for key in sorted(keys):
        if not _comes_back(format, tool.name, {str(key): 0}):
            raise CannotConstrain(
                f"{where} the argument {key!r} of {tool.name!r}: its key would not survive a round trip"
            )


def _comes_back(format: ToolCallFormat, name: str, arguments: Mapping[str, int]) -> bool:
    """Whether a call with numbers for arguments, as the format writes it, is read as that call."""
    properties = {key: {"type": "integer"} for key in arguments}
    tools = [{"name": name, "parameters": {"type": "object", "properties": properties}}]
    text = format.writer.write([(name, arguments)], lambda tool, *path: frozenset({"integer"}))
    names, said, refused = [], "", False
    parser = Parser(format, tools=tools)
    for event in [*parser.feed(text), *parser.finish()]:
        if isinstance(event, ToolCallStart):
            names.append(event.name)
        elif isinstance(event, ToolCallArguments):
            said += event.delta
        elif isinstance(event, ToolCallEnd):
            refused = refused or bool(set(event.tolerated) - _OF_VARIANTS)
        else:
            refused = True
    return not refused and names == [name] and json.loads(said) == arguments


def _reads_one_only(format: ToolCallFormat) -> bool:
    """Whether several calls, as a variant writes them, are read with a tolerance only, and one is read without."""

    def strictly(calls: list[Call]) -> bool:
        parser = Parser(format, tools=[{"name": "f"}], strict=True)
        text = format.writer.write(calls, lambda name, *path: None)
        return not any(isinstance(event, ToolCallRejected) for event in [*parser.feed(text), *parser.finish()])

    return strictly([("f", {})]) and not strictly([("f", {}), ("f", {})])


def _keeps_markers_out(node: Node) -> bool:
    """Whether a text in it may not hold a marker that the family's writer could put there."""
    return (isinstance(node, RawText) and bool(node.never)) or any(map(_keeps_markers_out, inner_nodes(node)))


def _takes_others(tool: ConstrainedTool) -> bool:
    """Whether the schema says that there may be other arguments than those that it names."""
    return bool(tool.schema.get("properties")) and tool.schema.get("additionalProperties", False) is not False


def _begun(format: ToolCallFormat, prefix: str) -> str:
    """What of a call the prompt holds already: its opener, with the blanks behind it."""
    rest = answer_prefix(prefix, format.markers.output_starts, format.headers, format.reasoning_read)
    begun = rest.rstrip()
    openers = [
        opener for opener in format.openers if begun == opener or (begun.endswith(opener) and len(opener) >= _CONTROL)
    ]
    opener = max(openers, key=len, default="")
    return opener and opener + rest[len(begun) :]


def _markers(format: ToolCallFormat) -> tuple[str, ...]:
    return tuple(opener for opener in format.openers if len(opener) >= _CONTROL)


def _reasoning(format: ToolCallFormat, prefix: str) -> Node:
    """The reasoning block before everything else, which the prompt may have opened; the answer may have none."""
    blocks: dict[str, list[str]] = {}
    for opener, closer in format.reasoning:
        blocks.setdefault(opener, []).append(closer)
    if not blocks:
        return EMPTY
    if _opened(format, prefix):
        begun = max((opener for opener in blocks if opener in prefix), key=len, default=next(iter(blocks)))
        return _until(format, blocks[begun])
    return maybe(either(*(row(opener, _until(format, closers)) for opener, closers in blocks.items())))


def _until(format: ToolCallFormat, closers: Sequence[str]) -> Node:
    """Reasoning and its closer; a family whose answers are several messages may open another one behind it."""
    again = [marker for marker in format.ignored_markers if _OF_ANOTHER_MESSAGE in marker]
    never = dict.fromkeys((*closers[1:], *format.ignored_markers, *_not_in_text(format)))
    text = RawText(closers[0], tuple(mark for mark in never if not _part_of(mark, closers[0])))
    return row(text, maybe(Pattern(_BLANKS)), maybe(either(*again)) if again else EMPTY)


def _opened(format: ToolCallFormat, prefix: str) -> bool:
    """Whether an answer behind this prompt begins inside of a reasoning block."""
    parser = Parser(format, prefix=prefix)
    return any(isinstance(event, Reasoning) for event in [*parser.feed("a\n\na"), *parser.finish()])


def _opener(format: ToolCallFormat, calls: Node) -> str:
    """What every call begins with: the longest marker of the format that does."""
    return max((opener for opener in format.openers if opener and begins_with(calls, opener)), key=len, default="")


def _text_and_calls(format: ToolCallFormat, calls: Node, opener: str) -> Node:
    """Text, and then perhaps calls: what opens them ends the text, which holds no other marker of calls either."""
    never = tuple(other for other in _not_in_text(format) if not _part_of(other, opener))
    return either(row(RawText(opener, never), behind(calls, opener)), FreeText((opener, *never)))


def _by_first_sign(format: ToolCallFormat, calls: Node) -> Node:
    """Calls without a marker before them, or text that does not begin as they do."""
    sign = _common(list(first_texts(calls)))[:1]
    if not sign or sign.isalnum():
        raise CannotConstrain(
            f"a call in the format {format.name} starts with just the tool's name, so no grammar can distinguish it "
            "from text; choose 'required' or a tool"
        )
    return either(calls, FreeText(_not_in_text(format), not_first=sign))


def _not_in_text(format: ToolCallFormat) -> tuple[str, ...]:
    """The markers of calls and of reasoning: where one stands in a text, what follows may be no text."""
    inner, engine = format.engine.inner, format.engine
    calls = (*engine.openers, *engine.closers, *engine.unframed_openers, *inner.openers, *inner.closers)
    calls += tuple(_behind_names(engine))
    unframed = (_UNFRAMED_JSON,) if "{" in engine.unframed_openers else ()
    marks = (*calls, *(opener for opener, _ in format.reasoning), *unframed)
    return tuple(dict.fromkeys(mark for mark in marks if len(mark.strip()) >= _CONTROL))


def _behind_names(engine: object) -> Iterator[str]:
    """What stands behind a name where a call whose opener is missing is read, which is told by that sign alone."""
    for one in (engine, *getattr(engine, "engines", ())):
        if isinstance(one, NamedJson) and one.name_at_start == "tolerated":
            yield from (sign.strip() for sign in (one.separator, *one.also_separators))


def _part_of(other: str, opener: str) -> bool:
    """Whether a marker need not be excluded, or must not: it is the opener, or begins with it."""
    return opener in other or other in opener


# --- what a node begins with


def first_texts(node: Node) -> Iterator[str]:
    """The texts that a node may begin with, as far as they are fixed; empty where nothing is."""
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


def begins_with(node: Node, opener: str) -> bool:
    return all(text.startswith(opener) for text in first_texts(node))


def _common(texts: list[str]) -> str:
    first, last = min(texts), max(texts)
    at = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:at]


def behind(node: Node, opener: str) -> Node:
    """A node that begins with the opener, without it."""
    match node:
        case Text(text):
            return Text(text.removeprefix(opener))
        case Row(parts):
            return row(behind(parts[0], opener), *parts[1:])
        case Either(parts):
            return either(*(behind(part, opener) for part in parts))
        case Repeated(part, separator, least, most):
            more = Repeated(row(separator, part), EMPTY, max(least - 1, 1), None if most is None else most - 1)
            rest = EMPTY if most == 1 else more if least > 1 else maybe(more)
            return row(behind(part, opener), rest)
    raise AssertionError(f"nothing but {node!r} begins with {opener!r}")
