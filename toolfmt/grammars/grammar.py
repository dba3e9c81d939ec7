"""A grammar of the answers that a format and its tools allow, in the dialect of one engine.

    import toolfmt

    grammar = toolfmt.grammar("glm4", tools, dialect="llguidance", choice="required")
    grammar.text                 # for the engine
    grammar.request("vllm")      # the fields of a request for a server

Making one needs the standard library only; checking and masking is llguidance's (`toolfmt.grammars.masks`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from toolfmt.errors import CannotConstrain
from toolfmt.formats import ToolCallFormat
from toolfmt.formats.answer_grammar import AnswerGrammar, answer_grammar
from toolfmt.formats.nodes import FreeText, Node, RawText, Rules, Text, inner_nodes
from toolfmt.formats.registry import resolved
from toolfmt.formats.schemas import NotConstrained
from toolfmt.grammars.exported import Exported
from toolfmt.grammars.gbnf import gbnf
from toolfmt.grammars.lark import plain_lark
from toolfmt.grammars.llguidance import llguidance
from toolfmt.grammars.requests import request
from toolfmt.messages.tools import tool_schemas

Dialect: TypeAlias = Literal["llguidance", "gbnf", "xgrammar", "lark"]
Runtime: TypeAlias = Literal["vllm", "sglang", "llama.cpp"]

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
RUNTIMES: tuple[Runtime, ...] = get_args(Runtime)
_LIKE_A_TOKEN = re.compile(r"<[^<>\s=]{2,60}>|\[/?[A-Z_]{3,30}\]")
DIALECT_OF: Mapping[Runtime, Dialect] = {"vllm": "xgrammar", "sglang": "xgrammar", "llama.cpp": "gbnf"}
"""The dialect that a runtime reads as it is started by default."""


@dataclass(frozen=True)
class Grammar:
    """A grammar as text, and what a runtime has to know beside it.

    `text` describes the whole answer; `calls` only what follows from a trigger on, the trigger included, for runtimes
    that let a model write freely until one stands there. `triggers` are the texts that begin a call; there are none
    where an answer must be calls, or where only its first sign tells. `preserved` are the markers in the grammar that
    are one token of the model, and those that look as if they were: a detokenizer must keep them.

    `narrower` names where the grammar allows less than format and schemas do: `declared-keys` (a schema says that there
    are other arguments than those it names; they cannot be given), `declared-order` (the members of some objects only
    in the order of their schema), `markers-in-texts` (strings that stand verbatim hold no marker of the format),
    `one-call` (several would be read with a tolerance only), `objects-as-json` (some objects and lists are no tags in
    tags), and what an exporter adds.
    """

    text: str
    dialect: Dialect
    calls: str
    triggers: tuple[str, ...]
    preserved: tuple[str, ...]
    narrower: tuple[str, ...]
    answer: AnswerGrammar = field(repr=False, compare=False)
    """What it was written of."""
    tokens: Mapping[str, int] | None = field(default=None, repr=False, compare=False)
    """The markers that are named by their ids; None where no tokenizer was known."""

    def for_tokens(self, tokens: Mapping[str, int]) -> Grammar:
        """The same for a tokenizer that has these markers as tokens."""
        return _written(self.answer, self.dialect, tokens)

    def request(self, runtime: Runtime) -> dict[str, Any]:
        """The fields that a request to this runtime's server has for the grammar. Raises `ToolfmtError` where the
        runtime does not take the dialect; the message names the one that it takes."""
        return request(self, runtime)


def grammar(
    format: str | ToolCallFormat,
    tools: object,
    *,
    dialect: Dialect = "llguidance",
    choice: str = "auto",
    parallel: bool = True,
    tokens: Mapping[str, int] | None = None,
    prefix: str = "",
) -> Grammar:
    """The grammar of answers in a format with these tools: an answer that it allows is read strictly, and its arguments
    satisfy the schemas of their tools.

    Takes a format or its name, and the tool definitions in any of their shapes. `choice` is `auto` (text, and then
    perhaps calls), `required` (calls), or the name of the tool to be called; `parallel` allows several calls. A
    reasoning block may stand before either; `prefix` is the tail of the prompt, which may have opened it. `tokens` maps
    the markers that are one token of the tokenizer to their ids: llguidance must be told. Raises `UnknownFormat`,
    `BadTools`, and `CannotConstrain`, which names the tool and the argument that no grammar can be held to: a grammar
    is never wider than the schemas.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"there is no dialect {dialect!r}; there are {', '.join(DIALECTS)}")
    known = resolved(format)
    try:
        made = answer_grammar(known, tools, choice=choice, parallel=parallel, prefix=prefix)
        try:
            return _written(made, dialect, tokens)
        except (CannotConstrain, NotConstrained) as refusal:
            raise _named(refusal, known, tools, dialect) from None
    except RecursionError:
        raise CannotConstrain(f"no grammar in the format {known.name}: the schemas are nested too deeply") from None


def _written(made: AnswerGrammar, dialect: Dialect, tokens: Mapping[str, int] | None) -> Grammar:
    texts = "\0".join(text for node in (made.rules.start, *made.rules.rules.values()) for text in _texts(node))
    ids = {marker: number for marker, number in (tokens or {}).items() if marker in texts}
    markers = tuple(dict.fromkeys((*ids, *_LIKE_A_TOKEN.findall(texts))))
    exported = _exported(made.rules, dialect, ids)
    calls = exported if made.calls is None else _exported(made.calls, dialect, ids)
    named = None if tokens is None else ids
    return Grammar(exported.text, dialect, calls.text, made.triggers, markers, exported.narrower, made, named)


def _named(
    refusal: CannotConstrain | NotConstrained, format: ToolCallFormat, tools: object, dialect: Dialect
) -> CannotConstrain:
    """What a dialect has no words for, with the tool and the argument: each is asked about alone."""

    def refused(name: str, schema: Mapping[str, Any]) -> bool:
        tool = {"name": name, "parameters": schema}
        try:
            _exported(answer_grammar(format, [tool], choice="required").rules, dialect, {})
        except (CannotConstrain, NotConstrained):
            return True
        return False

    where = "the schemas"
    for name, schema in tool_schemas(tools).items():
        if refused(name, schema):
            properties = schema.get("properties")
            parts = properties.items() if isinstance(properties, Mapping) else ()
            alone = {key: {**schema, "properties": {key: part}, "required": []} for key, part in parts}
            key = next((key for key, part in alone.items() if refused(name, part)), None)
            where = f"the arguments of {name!r}" if key is None else f"the argument {key!r} of {name!r}"
            break
    why = refusal.why if isinstance(refusal, NotConstrained) else refusal
    return CannotConstrain(f"no grammar for {dialect} in the format {format.name} holds to {where}: {why}")


def _exported(rules: Rules, dialect: Dialect, tokens: Mapping[str, int]) -> Exported:
    """The grammar as the engines of a dialect read it."""
    if dialect == "llguidance":
        return llguidance(rules, tokens)
    if dialect == "lark":
        plain = plain_lark(rules)
        return Exported(plain.text, plain.narrower)
    return gbnf(rules)


def _texts(node: Node) -> Iterator[str]:
    if isinstance(node, Text):
        yield node.text
    elif isinstance(node, RawText):
        yield from (node.closer, *node.never)
    elif isinstance(node, FreeText):
        yield from node.without
    for inner in inner_nodes(node):
        yield from _texts(inner)
