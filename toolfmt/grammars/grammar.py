"""Create a grammar of the outputs that a format and its tools allow, for one engine.

    import toolfmt

    grammar = toolfmt.grammar("glm4", tools, syntax="llguidance", choice="required")
    grammar.text                 # for the engine
    grammar.request("vllm")      # the fields of a request for a server

Creating one needs only the standard library. `toolfmt.grammars.masks` checks grammars and computes masks with
llguidance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from toolfmt.errors import CannotConstrain
from toolfmt.formats import ToolCallFormat
from toolfmt.formats.grammar.answer_grammar import AnswerGrammar, answer_grammar
from toolfmt.formats.grammar.schemas import NotConstrained
from toolfmt.formats.registry import resolved
from toolfmt.formats.values.nodes import FreeText, Node, RawText, Text, inner_nodes
from toolfmt.grammars.exported import Exported
from toolfmt.grammars.gbnf import XGRAMMAR_TEXT_STATES, gbnf
from toolfmt.grammars.lark import plain_lark
from toolfmt.grammars.llguidance import llguidance
from toolfmt.grammars.requests import request
from toolfmt.grammars.structural_tag import structural_tag
from toolfmt.messages.tools import tool_schemas

GrammarSyntax: TypeAlias = Literal["llguidance", "gbnf", "xgrammar", "lark", "structural-tag"]
Runtime: TypeAlias = Literal["vllm", "sglang", "llama.cpp"]

SYNTAXES: tuple[GrammarSyntax, ...] = get_args(GrammarSyntax)
RUNTIMES: tuple[Runtime, ...] = get_args(Runtime)
_LIKE_A_TOKEN = re.compile(r"<[^<>\s=]{2,60}>|\[/?[A-Z_]{3,30}\]")
SYNTAX_OF: Mapping[Runtime, GrammarSyntax] = {"vllm": "structural-tag", "sglang": "structural-tag", "llama.cpp": "gbnf"}
"""The grammar format that a runtime reads by default."""


@dataclass(frozen=True)
class Grammar:
    """A grammar as text, and what a runtime needs to know about it.

    `narrower` may contain:

    - `declared-keys`: a schema allows arguments that it does not name, but the grammar does not.
    - `declared-order`: the members of some objects are only allowed in the order of their schema.
    - `markers-in-texts`: verbatim strings cannot contain a marker of the format, or newlines that parsing would drop.
    - `listed-values`: some values of an enum would be parsed as another type.
    - `one-call`: several calls would need a tolerance.
    - `plain-keys`: undeclared keys of inner objects must match `[A-Za-z_][A-Za-z0-9_]*`.
    - `objects-as-json`: some objects and lists are not written as nested tags.
    - `bounded-text-without-marker-starts`: some strings with a `maxLength` cannot contain a marker's first character.

    Attributes:
        text: The grammar of the whole output.
        syntax: The grammar format in which it is written.
        calls: The grammar from a trigger on, including the trigger, for runtimes that let a model write freely until
            then.
        triggers: The strings that begin a call. Empty if an output must be calls, or if only a call's first character
            shows it.
        preserved: The markers in the grammar that are one token of the model, and those that look like one. A
            detokenizer must keep them.
        narrower: How the grammar allows less than format and schemas do, as names.
        answer: What it was made from.
        tokens: The markers that are written as token ids. None if no tokenizer was known.
    """

    text: str
    syntax: GrammarSyntax
    calls: str
    triggers: tuple[str, ...]
    preserved: tuple[str, ...]
    narrower: tuple[str, ...]
    answer: AnswerGrammar = field(repr=False, compare=False)
    tokens: Mapping[str, int] | None = field(default=None, repr=False, compare=False)

    def for_tokens(self, tokens: Mapping[str, int]) -> Grammar:
        """Return the same grammar for a tokenizer that has these markers as tokens.

        Args:
            tokens: The markers with their token ids.
        """
        return _written(self.answer, self.syntax, tokens)

    def request(self, runtime: Runtime) -> dict[str, Any]:
        """Return the fields of a request to this runtime's server for the grammar.

        Args:
            runtime: The runtime of the server.

        Raises:
            ToolfmtError: The runtime does not support the grammar's format. The message names the one it supports.
        """
        return request(self, runtime)


def grammar(
    format: str | ToolCallFormat,
    tools: object,
    *,
    syntax: GrammarSyntax = "llguidance",
    choice: str = "auto",
    parallel: bool = True,
    tokens: Mapping[str, int] | None = None,
    prefix: str = "",
) -> Grammar:
    """Return the grammar of outputs in a format with these tools.

    An output that it allows is parsed (in two variants of formats with a tolerance), and its arguments match the
    schemas of their tools, except in the cases of docs/grammars.md. A reasoning block or whitespace may come first.

    Args:
        format: A format or its name.
        tools: Tool definitions in any format.
        syntax: The grammar format of the engine.
        choice: `auto` (text, then optional calls), `required` (calls), or the name of the tool to call.
        parallel: Allow several calls.
        tokens: The markers that are one token of the tokenizer, with their ids, for llguidance and structural tags.
        prefix: The tail of the prompt, which may have started a reasoning block.

    Raises:
        UnknownFormat: There is no format of this name.
        BadTools: The tool definitions are not valid.
        CannotConstrain: No grammar exists for a tool or an argument. The message names both.
        ValueError: There is no such syntax.
    """
    if syntax not in SYNTAXES:
        raise ValueError(f"there is no syntax {syntax!r}; choose one of {', '.join(SYNTAXES)}")
    known = resolved(format)
    try:
        made = answer_grammar(known, tools, choice=choice, parallel=parallel, prefix=prefix)
        try:
            return _written(made, syntax, tokens)
        except (CannotConstrain, NotConstrained) as error:
            raise _named(error, known, tools, syntax) from None
    except RecursionError:
        raise CannotConstrain(f"no grammar in the format {known.name}: the schemas are nested too deeply") from None


def _written(made: AnswerGrammar, syntax: GrammarSyntax, tokens: Mapping[str, int] | None) -> Grammar:
    texts = "\0".join(text for node in (made.rules.start, *made.rules.rules.values()) for text in _texts(node))
    ids = {marker: number for marker, number in (tokens or {}).items() if marker in texts}
    markers = tuple(dict.fromkeys((*ids, *_LIKE_A_TOKEN.findall(texts))))
    exported = _exported(made, syntax, ids)
    calls = _exported(AnswerGrammar(made.calls), syntax, ids) if made.trigger else exported
    named = None if tokens is None else ids
    triggers = (made.trigger,) if made.trigger else ()
    return Grammar(exported.text, syntax, calls.text, triggers, markers, exported.narrower, made, named)


def _named(
    error: CannotConstrain | NotConstrained, format: ToolCallFormat, tools: object, syntax: GrammarSyntax
) -> CannotConstrain:
    """Add the tool and the argument to the error of an exporter, by exporting each alone."""

    def is_rejected(name: str, schema: Mapping[str, Any]) -> bool:
        tool = {"name": name, "parameters": schema}
        try:
            _exported(answer_grammar(format, [tool], choice="required"), syntax, {})
        except (CannotConstrain, NotConstrained):
            return True
        return False

    where = "the schemas"
    for name, schema in tool_schemas(tools).items():
        if is_rejected(name, schema):
            properties = schema.get("properties")
            parts = properties.items() if isinstance(properties, Mapping) else ()
            alone = {key: {**schema, "properties": {key: part}, "required": []} for key, part in parts}
            key = next((key for key, part in alone.items() if is_rejected(name, part)), None)
            where = f"the arguments of {name!r}" if key is None else f"the argument {key!r} of {name!r}"
            break
    why = error.why if isinstance(error, NotConstrained) else error
    return CannotConstrain(f"{syntax} has no grammar for {where} in the format {format.name}: {why}")


def _exported(made: AnswerGrammar, syntax: GrammarSyntax, tokens: Mapping[str, int]) -> Exported:
    """Return the grammar in the format of an engine."""
    if syntax == "structural-tag":
        return structural_tag(made, tokens)
    if syntax == "llguidance":
        return llguidance(made.rules, tokens)
    if syntax == "lark":
        plain = plain_lark(made.rules)
        return Exported(plain.text, plain.narrower)
    if syntax == "xgrammar":
        return gbnf(made.rules, most_states=XGRAMMAR_TEXT_STATES)
    return gbnf(made.rules)


def _texts(node: Node) -> Iterator[str]:
    if isinstance(node, Text):
        yield node.text
    elif isinstance(node, RawText):
        yield from (node.end, *node.never)
    elif isinstance(node, FreeText):
        yield from node.without
    for inner in inner_nodes(node):
        yield from _texts(inner)
