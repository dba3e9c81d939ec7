"""The grammar of the calls that an engine writes."""

from __future__ import annotations

from functools import partial, singledispatch
from typing import Any

from toolfmt.errors import CannotConstrain
from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.engines.channels import Channels
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.flags import Flags
from toolfmt.formats.engines.foreign import Elsewhere
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.engines.nested_tags import NestedTags
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.grammar.constraint import (
    ConstrainedTool,
    Constraint,
    json_arguments,
    json_syntax_of,
    members,
    numbered,
    written_object,
)
from toolfmt.formats.grammar.nested_tags import nested_calls
from toolfmt.formats.grammar.nodes import EMPTY, Node, maybe, row
from toolfmt.formats.grammar.schemas import Arguments
from toolfmt.formats.grammar.tagged import tagged_calls
from toolfmt.formats.grammar.value_nodes import JSON_SYNTAX, QuotedValueNodes, ValueNodes, value_syntax_of
from toolfmt.formats.values.syntaxes import BetweenMarks


@singledispatch
def grammar_of(engine: Engine, constraint: Constraint) -> Node:
    """Return the calls that the tools allow, as `engine.write` writes them and strict parsing accepts them.

    A package registers the grammar of its own engine with `@grammar_of.register(MyEngine)`, before a function with
    these parameters. A subclass of one of toolfmt's engines has the grammar of that engine.

    Args:
        engine: The engine that writes the calls.
        constraint: The tools. The function adds named rules to it, and the names of what the grammar leaves out.

    Raises:
        CannotConstrain: The engine has no grammar, or a tool's arguments have none.
    """
    name = type(engine).__qualname__
    raise CannotConstrain(f"the format {constraint.format} has no grammar: its engine {name} has not registered one")


grammar_of.register(NestedTags, nested_calls)
grammar_of.register(Tagged, tagged_calls)


@grammar_of.register(Choice)
def _choice(engine: Choice, constraint: Constraint) -> Node:
    return grammar_of(engine.engines[0], constraint)


@grammar_of.register(Elsewhere)
def _foreign(engine: Elsewhere, constraint: Constraint) -> Node:
    return grammar_of(engine.engine, constraint)


@grammar_of.register(Flags)
def _flags(_: Flags, constraint: Constraint) -> Node:
    raise CannotConstrain(f"the format {constraint.format} has no grammar: flags are only parsed, not written")


@grammar_of.register(JsonObject)
def _json_object(engine: JsonObject, constraint: Constraint) -> Node:
    one = constraint.any_call(partial(written_object, engine.call_object))
    if engine.enclosing:
        inside = row(engine.enclosing[0], constraint.calls(one, engine.separator), engine.enclosing[1])
        return row(engine.opener, inside, engine.closer)
    return constraint.calls(row(engine.opener, engine.between, one, engine.between, engine.closer), engine.separator)


@grammar_of.register(NamedJson)
def _named_json(engine: NamedJson, constraint: Constraint) -> Node:
    def call(tool: ConstrainedTool, shape: Arguments) -> Node:
        header = row(engine.lead, numbered(partial(engine.identity.write, tool.name)), engine.separator)
        written = json_arguments(tool, shape, json_syntax_of(engine.style))
        arguments = row(engine.fence[0], written, engine.fence[1])
        return row(engine.call_opener, header, arguments, engine.call_closer)

    return row(engine.opener, constraint.calls(constraint.any_call(call), engine.between), engine.closer)


@grammar_of.register(Channels)
def _channels(engine: Channels, constraint: Constraint) -> Node:
    def call(tool: ConstrainedTool, shape: Arguments) -> Node:
        text = grammar_of(engine.body, constraint.with_tool(tool)) if engine.body else json_arguments(tool, shape)
        return row(engine.header, engine.namespace, tool.name, engine.channel, engine.message, text, engine.closer)

    return constraint.calls(constraint.any_call(call), engine.between)


@grammar_of.register(CallExpression)
def _call_expression(engine: CallExpression, constraint: Constraint) -> Node:
    quoted = not isinstance(engine.notation, BetweenMarks) and engine.notation.quoted
    kind = QuotedValueNodes if quoted else ValueNodes
    syntax = JSON_SYNTAX if quoted else value_syntax_of(engine.written)

    def call(tool: ConstrainedTool, shape: Arguments) -> Node:
        values = kind(engine.written, tool.schemas, constraint.rules, tool.prefix, syntax, never=engine.closers)

        def argument(key: str, schema: Any) -> Node:
            return row(engine.key_lead, key, engine.assign, values.value(schema), engine.pair_closer)

        arguments = row(engine.brackets[0], members(shape, argument, engine.separator))
        if not engine.brackets[0].strip() and not shape.required:
            arguments = maybe(arguments) if shape.properties else EMPTY
        return row(engine.lead, tool.name, arguments, engine.brackets[1])

    one = constraint.any_call(call)
    if engine.enclosing:
        inside = row(engine.enclosing[0], constraint.calls(one, engine.between), engine.enclosing[1])
        return row(engine.opener, inside, engine.closer)
    return constraint.calls(row(engine.opener, one, engine.closer), "")
