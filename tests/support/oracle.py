"""The oracle: what a grammar and a parser decide about the same text, for the test and for `benchmarks/oracle.py`.

A format defines as nodes which calls tools allow, and its parser reads calls; neither knows the other. So the strict
parser must read every sentence of the grammar into calls that the schemas allow, and every text that it reads wholly as
such calls must be in the grammar, with whitespace wherever parsers skip it (`loosened`). A difference is a bug of the
parser, or is listed in `oracle_listed.json` with the reason why it stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import jsonschema
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark
from lark.exceptions import LarkError
from loosened import Loosening, Spelling

from toolfmt.errors import CannotWrite
from toolfmt.formats import FORMATS, Parser, ToolCallFormat, get, write
from toolfmt.formats.grammar.answer_grammar import answer_grammar
from toolfmt.formats.grammar.constraint import ConstrainedTool, Constraint, constrained_calls
from toolfmt.formats.tolerances import EXPECTED
from toolfmt.formats.values.nodes import RawText, Rules
from toolfmt.grammars.lark import PlainLark, Terminal, plain_lark
from toolfmt.messages.events import Content, Reasoning, ToolCallArguments, ToolCallEnd, ToolCallRejected, ToolCallStart

Call = tuple[str, Any]


def _tool(name: str, properties: Mapping[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": dict(properties), "required": list(required), **more}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


_WEATHER = {
    "city": {"type": "string"},
    "days": {"type": "integer"},
    "units": {"type": "string", "enum": ["c", "f"]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "detail": {"type": "boolean"},
}
_PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "number"}},
    "required": ["name"],
    "additionalProperties": False,
}
_BOOK = {
    "who": _PERSON,
    "note": {"type": ["string", "null"]},
    "price": {"type": "number"},
    "rooms": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
}
TOOLS: list[Any] = [
    _tool("get_weather", _WEATHER, "city"),
    _tool("now", {}),
    _tool("book", _BOOK, "who", "price"),
    _tool("set_value", {"value": {"type": ["integer", "boolean"]}, "more": {"type": "object"}}),
]
STRINGS = (
    "Paris", "", "a b", "3", "true", "null", "Zürich – 東京 🙂", 'say "hi"', "it's", "back\\slash", "line1\nline2",
    "\tindent", " lead", "trail ", '{"a": 1}', "[1, 2]", "<b>x</b>", "a, b=c", "f(x)", "\n", "é\u2028z",
)  # fmt: skip
SPELLINGS = [(format.name, variant) for format in FORMATS for variant in ("", *format.variants)]
"""Every way in which calls are written: format and variant."""

NOTED_SPELLINGS = {
    ("phi4", "bare objects"): "the format's own calls have a frame: missing_opener",
    ("xml_function", "without a frame"): "the format's own calls have a frame: missing_opener",
    ("llama3", "without a sign between"): "the format's own calls have a sign between them: missing_separator",
    ("llama3", "after Llama 4's pair"): "the format's own calls have a sign between them: missing_separator",
}
"""Variants that only write: the format's parser reports what they leave out as a tolerance, and strict parsing rejects
it.
"""


def spelling(name: str, variant: str = "") -> ToolCallFormat:
    return get(name).with_variant(variant)


# --- the parser


class RejectedText(Exception):
    """The strict parser does not read the text wholly as calls that the schemas allow; contains the reason."""


class Read(NamedTuple):
    calls: list[Call]
    spans: list[tuple[int, int]]
    reasoning: str


def strictly_read(format: ToolCallFormat, text: str, tools: list[Any] | None) -> Read:
    """The calls in a text that consists of calls only, perhaps after reasoning. Raises `RejectedText`."""
    parser = Parser(format, tools=tools, strict=True)
    names: list[str] = []
    arguments: list[str] = []
    spans: list[tuple[int, int]] = []
    reasoning = ""
    for event in [*parser.feed(text), *parser.finish()]:
        if isinstance(event, ToolCallStart):
            names.append(event.name)
            arguments.append("")
        elif isinstance(event, ToolCallArguments):
            arguments[-1] += event.delta
        elif isinstance(event, ToolCallEnd):
            spans.append(event.span)
            if event.tolerated:
                raise RejectedText(f"tolerated {event.tolerated[0]}")
        elif isinstance(event, ToolCallRejected):
            raise RejectedText(f"rejected, {event.reason}")
        elif isinstance(event, Reasoning) and not names:
            reasoning += event.text
        elif isinstance(event, (Content, Reasoning)):
            raise RejectedText(type(event).__name__.lower())
    if not spans or len(spans) != len(names):
        raise RejectedText("no call")
    return Read([(name, json.loads(text)) for name, text in zip(names, arguments, strict=True)], spans, reasoning)


def holds_a_key_twice(format: ToolCallFormat, text: str, tools: list[Any] | None) -> bool:
    """Whether that is the only error: if a schema allows any keys of an object, no grammar counts them."""
    parser = Parser(format, tools=tools)
    ends = [event for event in [*parser.feed(text), *parser.finish()] if not isinstance(event, ToolCallArguments)]
    noted = {name for event in ends if isinstance(event, ToolCallEnd) for name in event.tolerated}
    rejected = [event for event in ends if isinstance(event, ToolCallRejected)]
    wrong = any(isinstance(event, Content) for event in ends)
    twice = noted == {"duplicate_key"} or (bool(rejected) and not noted)
    return twice and not wrong and all(event.expected == EXPECTED["duplicate_key"] for event in rejected)


def check_schemas(calls: Sequence[Call], tools: list[Any]) -> None:
    """Every call is one of a tool, with arguments that its schema allows, and no others. Raises `RejectedText`."""
    for name, arguments in calls:
        validator = _validators(json.dumps(tools)).get(name)
        if validator is None:
            raise RejectedText("a tool that is not declared")
        error = next(iter(validator.iter_errors(arguments)), None)
        if error is not None:
            raise RejectedText(f"not allowed by {error.validator}")


@cache
def _validators(tools: str) -> dict[str, Any]:
    functions = [tool["function"] for tool in json.loads(tools)]
    return {
        function["name"]: jsonschema.Draft202012Validator({"additionalProperties": False, **function["parameters"]})
        for function in functions
    }


# --- the grammar


def reader(grammar: PlainLark) -> Lark:
    return Lark(grammar.text, parser="earley", lexer="dynamic", ambiguity="forest")


_ESCAPE = re.compile(r"\\u00([2-7][0-9a-fA-F])")
"""A letter of a name or a key that is written with an escape, as JSON allows."""


class Oracle:
    """The loosened grammar of a format, in which its calls appear in any way in which they are written."""

    def __init__(self, name: str, tools: list[Any]) -> None:
        self._format, self._tools = get(name), tools
        self._reader = reader(plain_lark(loosening(self._format).rules(*call_rules(self._format, tools))))

    def takes(self, text: str, read: Read) -> str:
        """How the grammar accepts a text that was read like this; empty if it does not.

        The prompt may have written the start of the calls. What no event contains is left out (control tokens around an
        output, trailing markers of models after a call): guarantee 3 restricts such gaps to the format's own list.
        """
        if self._has(text):
            return "unchanged"
        if read.spans and self._has("".join(text[begin:end] for begin, end in read.spans)):
            return "without meaningless parts"
        for entry in listed_for(self._format.name):
            text = re.sub(entry["pattern"], entry["as"], text)
        if self._has(text) or self._has(_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)):
            return "listed"
        return "as written" if self._is_written(text, read.calls) else ""

    def _has(self, text: str) -> bool:
        starts = self._format.openers[:1] if self._format.name_at_start == "usual" else ()
        return any(_is_in(self._reader, opener + text) for opener in ("", *starts))

    def _is_written(self, text: str, calls: Sequence[Call]) -> bool:
        """Whether the format writes these calls like this, ignoring whitespace. A raw text may contain markers of the
        format that a grammar lets no model write there.
        """
        for variant in ("", *self._format.variants):
            try:
                written = write(self._format.with_variant(variant), calls, self._tools)
            except CannotWrite:
                continue
            if _bare(self._format, written) == _bare(self._format, text):
                return True
        return False


def _bare(format: ToolCallFormat, text: str) -> str:
    """A text without whitespace, and without the marks that writers put around a value that contains no tag."""
    for mark in (mark for engine in _engines(format) for mark in getattr(engine, "cdata", ())):
        text = text.replace(mark, "")
    return "".join(text.split())


def _is_in(grammar: Lark, text: str) -> bool:
    try:
        grammar.parse(text)
    except LarkError:
        return False
    return True


def call_rules(format: ToolCallFormat, tools: list[Any]) -> Iterator[Rules]:
    """Only the calls, in every way in which the format writes them."""
    functions = [tool["function"] for tool in tools]
    constrained = tuple(
        ConstrainedTool(function["name"], function.get("parameters", {}), f"t{at}")
        for at, function in enumerate(functions)
    )
    for variant in ("", *format.variants):
        constraint = Constraint(format.name, constrained, several=True)
        start = constrained_calls(format.with_variant(variant).writer, constraint)
        yield Rules(start, constraint.rules)


_SPELLINGS = (("opener", "also"), ("closer", "also_closers"), ("lead", "also_lead"), ("separator", "also_separators"))
"""Markers of engines, and the positions of their other forms."""


def loosening(format: ToolCallFormat) -> Loosening:
    """The other forms that a format's engines declare, and which of its markers have no meaning."""
    spellings: dict[str, Spelling] = {}
    for one in (spelling for engine in _engines(format) for spelling in _spellings_of(engine)):
        also = (*spellings[one.text].also, *one.also) if one.text in spellings else one.also
        spellings[one.text] = Spelling(one.text, tuple(dict.fromkeys(also)), one.often)
    return Loosening(list(spellings.values()), format.ignored_markers)


def _engines(format: ToolCallFormat) -> list[object]:
    """Every engine that reads or writes calls of a format."""
    engines: list[object] = [format.engine, *format.variants.values()]
    for engine in engines:  # which grows
        engines += [inner for inner in (*getattr(engine, "engines", ()), getattr(engine, "body", None)) if inner]
    return engines


def _spellings_of(engine: object) -> Iterator[Spelling]:
    for place, others in _SPELLINGS:
        text, also = getattr(engine, place, ""), getattr(engine, others, ())
        also = (also,) if isinstance(also, str) else also
        if text and text.strip() and any(also):
            yield Spelling(text, tuple(filter(None, also)))
    skipped = getattr(engine, "skipped", ())
    for text in skipped:
        yield Spelling(text, tuple(other for other in skipped if other != text), often=True)


@cache
def listed() -> list[dict[str, Any]]:
    """What strict parsers accept and no grammar does, with the reason: a pattern, and the form that the grammar
    accepts.
    """
    entries: list[dict[str, Any]] = json.loads(Path(__file__).with_name("oracle_listed.json").read_text("utf-8"))
    return entries


@cache
def decided() -> dict[str, str]:
    """The corpus cases that no grammar accepts although strict parsing does, by id, each with the reason."""
    groups = json.loads(Path(__file__).with_name("oracle_corpus.json").read_text("utf-8"))
    return {case: group["reason"] for group in groups for case in group["cases"]}


def listed_for(name: str) -> list[dict[str, Any]]:
    return [entry for entry in listed() if name in entry["formats"] or entry["formats"] == ["*"]]


# --- both


class Judgement(NamedTuple):
    """The decisions of strict parser and grammar about a text."""

    rejected: str
    """Why the parser does not read it wholly as calls that the schemas allow; empty if it does."""
    has: str = ""
    """How the grammar accepts it, if the parser does; empty if not."""

    @property
    def agree(self) -> bool:
        return bool(self.rejected or self.has)


def judged(name: str, text: str, tools: list[Any] | None) -> Judgement:
    """The decisions of parser and grammar. Without tools, it is the grammar of tools with just these names and keys."""
    try:
        read = strictly_read(get(name), text, tools)
        if read.reasoning:
            return Judgement("reasoning")
        if tools is not None:
            check_schemas(read.calls, tools)
    except RejectedText as error:
        return Judgement(str(error))
    known = tools_of(read.calls) if tools is None else tools
    return Judgement("", oracle(name, json.dumps(known)).takes(text, read))


@lru_cache(maxsize=64)
def oracle(name: str, tools: str) -> Oracle:
    """The oracle of a format for these tools, as JSON."""
    return Oracle(name, json.loads(tools))


def tools_of(calls: Sequence[Call]) -> list[Any]:
    """Tools with the names and keys of these calls, of whose arguments nothing is known."""
    keys: dict[str, dict[str, Any]] = {}
    for name, arguments in calls:
        keys.setdefault(name, {}).update({key: {} for key in sorted(arguments)})
    return [_tool(name, dict(sorted(keys[name].items()))) for name in sorted(keys)]


# --- texts


@cache
def marks(name: str) -> tuple[str, ...]:
    """Tokens of a format: what it writes around the parts of calls, and what it looks for."""
    format = get(name)
    text = "\n".join(
        format.with_variant(variant).writer.write([("f", {"a": "b", "c": 1}), ("f", {})], lambda name, *path: None)
        for variant in ("", *format.variants)
    )
    found = re.findall(r"<[^<>\n]*>|\[/?[A-Z_]+\]|\w+|[^\w\s]|\s+", text)
    inner = format.engine.inner
    markers = (*format.openers, *format.closers, *format.unframed_openers, *inner.openers, *inner.closers)
    return tuple(sorted({*found, *markers} - {""}))


def some_value(schema: Mapping[str, Any], random: Random) -> Any:
    """A value that the schema allows, of the kinds that `TOOLS` have."""
    if "enum" in schema:
        return random.choice(list(schema["enum"]))
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = random.choice(kind)
    if kind == "string":
        return random.choice(STRINGS)
    if kind == "integer":
        return random.choice([0, 1, -7, 42, 10**12])
    if kind == "number":
        return random.choice([0, 1.5, -2, 3.25e-5, 1e20])
    if kind == "boolean":
        return random.random() < 0.5
    if kind == "null":
        return None
    if kind == "array":
        return [some_value(schema["items"], random) for _ in range(random.randint(schema.get("minItems", 0), 3))]
    if "properties" not in schema:
        return random.choice([{}, {"a": 1}, {"k": ["x", None]}])
    required = schema.get("required", [])
    return {
        key: some_value(part, random)
        for key, part in schema["properties"].items()
        if key in required or random.random() < 0.5
    }


def some_calls(random: Random, most: int = 2) -> list[Call]:
    functions = [random.choice(TOOLS)["function"] for _ in range(random.randint(1, most))]
    return [(function["name"], some_value(function["parameters"], random)) for function in functions]


def mutated(text: str, name: str, random: Random) -> str:
    """The text with one thing changed: characters, or whole tokens of the format."""
    if random.random() < 0.5:
        at, how = random.randrange(len(text)), random.random()
        if how < 0.45:
            return text[:at] + text[at + random.randint(1, 4) :]
        if how < 0.95:
            insertions = [*"\"'{}[]()<>,:=/\\ \t\nx0-.", text[max(0, at - 9) : at]]
            inserted: str = random.choice(insertions)
            return text[:at] + inserted + text[at + random.randint(0, 1) :]
        return text[:at]
    tokens = re.findall(r"<[^<>\n]*>|\[/?[A-Z_]+\]|\w+|\s+|.", text)
    at, how = random.randrange(len(tokens)), random.random()
    if how < 0.3:
        del tokens[at : at + random.randint(1, 3)]
    elif how < 0.55:
        tokens.insert(at, random.choice(marks(name)))
    elif how < 0.8:
        tokens[at] = random.choice([*marks(name), random.choice(tokens)])
    elif how < 0.9:
        other = random.randrange(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]
    else:
        tokens[at:at] = tokens[at : at + random.randint(1, 6)]
    return "".join(tokens)


_PIECES = (
    "a", "3", "null", "true", " ", "\n", '"', "'", "\\", "{", "}", "[", "é", "🙂", "<", ">", "</", "<b>", ",", "=", ":",
    "(", "```",
)  # fmt: skip


def written_and_mutated(name: str, variant: str, random: Random, written: int, mutations: int) -> Iterator[str]:
    """Calls as the variant writes them, and each of these texts with one change, in so many ways."""
    for _ in range(written):
        try:
            text = write(spelling(name, variant), some_calls(random), TOOLS)
        except CannotWrite:
            continue
        yield text
        for _ in range(mutations):
            yield mutated(text, name, random)


# --- sentences


def sentences(format: ToolCallFormat, tools: list[Any]) -> st.SearchStrategy[str]:
    """Outputs that the grammar accepts, in which the calls begin immediately or after a reasoning block."""
    made = plain_lark(answer_grammar(format, tools, choice="required").rules)
    pieces = st.sampled_from([*_PIECES, *marks(format.name), *(mark[:-1] for mark in marks(format.name) if mark[1:])])
    texts = st.lists(pieces | st.characters(codec="utf-8"), max_size=6).map("".join)
    explicit = {name: _texts_of(terminal, texts) for name, terminal in made.terminals.items()}
    return from_lark(reader(made), start="start", explicit=explicit)


def _texts_of(terminal: Terminal, texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Texts of a terminal; for a raw text, those that look like what it must not contain."""
    whole, node = re.compile(terminal.pattern), terminal.node
    if not isinstance(node, RawText):
        return st.from_regex(whole, fullmatch=True, alphabet=st.characters(codec="utf-8"))
    closer = node.end
    return texts.map(lambda text: text + closer).filter(lambda text: bool(whole.fullmatch(text)))
