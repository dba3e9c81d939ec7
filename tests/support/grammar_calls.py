"""The checks of a format's grammar: written texts must be in it, texts that are in it must be read in strict mode, and
calls that violate a tool's schema must not be in it.

`tests/formats/grammar/test_walks.py` and `benchmarks/grammar_walks.py` share this. A `Subject` is a format (or a
variant of it) with its grammar; each function returns the failures, as pairs of the failure and the text, and counts
into `counts`.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from grammar_walks import Walker, byte_tokenizer, decoded, encoded, ids_of, masks_of
from jsonschema import Draft202012Validator

from toolfmt.errors import CannotWrite
from toolfmt.formats import FORMATS, Parser, ToolCallFormat, write
from toolfmt.formats.grammar.answer_grammar import answer_grammar
from toolfmt.formats.values.nodes import Node, QuotedText, RawText, Text, inner_nodes
from toolfmt.formats.values.schema_types import parameter_types
from toolfmt.grammars.llguidance import llguidance
from toolfmt.grammars.masks import Masks
from toolfmt.messages.events import Content, Reasoning, ToolCallArguments, ToolCallEnd, ToolCallRejected, ToolCallStart

Calls: TypeAlias = list[tuple[str, dict[str, Any]]]
Defects: TypeAlias = list[tuple[str, str]]


def _tool(name: str, properties: dict[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": [*required]}
    return {"type": "function", "function": {"name": name, "description": "It does.", "parameters": parameters}}


_WHO = {"name": {"type": "string"}, "age": {"type": "number"}}
TOOLS = [
    _tool(
        "get_weather",
        {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "units": {"type": "string", "enum": ["c", "f"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "detail": {"type": "boolean"},
        },
        ["city"],
    ),
    _tool("now", {}),
    _tool(
        "book",
        {
            "who": {"type": "object", "properties": _WHO, "required": ["name"], "additionalProperties": False},
            "note": {"type": ["string", "null"]},
            "price": {"type": "number"},
            "rooms": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        },
        ["who", "price"],
    ),
]
SCHEMAS: dict[str, Any] = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
_VALIDATORS = {name: Draft202012Validator(schema | {"additionalProperties": False}) for name, schema in SCHEMAS.items()}
_PLAIN = (
    "Paris", "", "a b", "3", "true", "null", "Zürich – 東京 🙂", 'say "hi"', "it's", "back\\slash", "line1\nline2",
    "\tindent", " lead", "trail ", '{"a": 1}', "[1, 2]", "<b>x</b>", "a, b=c", "f(x)", "x" * 40, "\n", "é\u2028z",
)  # fmt: skip
_OFFERED = ("\n", '"', "'", "\\", "{", "null", "12", "é", "<think>", "</think>", "```", "[", "🙂", "\\u00e9", "\\ud800")
TOLERATED = {
    ("phi4", "bare objects"): "missing_opener",
    ("xml_function", "without a frame"): "missing_opener",
}
"""Variants that are read only with a tolerance, which strict rejects."""
ONE_CALL = {("llama3", "after Llama 4's pair"), ("llama3", "without a sign between")}
"""Variants of which the second call is read with a tolerance, so that their grammars allow one."""
_TEXTS = ("Let me look.\n\n", "I < 3 [a] {b} <b>\n", "Zürich: ")
"""The text before calls in outputs."""
_CONTROL = re.compile(r"<\|\"\|>|<\|[^<>|]*\|>|<｜[^<>]*｜>|<\|?[a-z_:/]+\|?>|\[/?[A-Z_]+\]|\]<\]minimax\[>\[")
"""What a tokenizer of such a family is likely to have as one token."""


def variants() -> Iterator[ToolCallFormat]:
    """Every format, and its variants."""
    for format in FORMATS:
        for variant in ("", *format.variants):
            yield format.with_variant(variant)


def named(format: ToolCallFormat) -> str:
    return f"{format.name}:{format.variant}" if format.variant else format.name


@dataclass
class Subject:
    """A format with the grammar of its outputs for `TOOLS`; `tokens` makes its markers control tokens."""

    format: ToolCallFormat
    tokens: bool
    choice: str = "required"
    counts: Counter[str] = field(default_factory=Counter)

    @cached_property
    def masks(self) -> Masks:
        return masks_of(llguidance(self._answer.rules, ids_of(self.tokenizer, self.special)), self.tokenizer)

    @cached_property
    def _answer(self) -> Any:
        return answer_grammar(self.format, TOOLS, choice=self.choice, prefix="")

    @cached_property
    def texts(self) -> list[str]:
        """Literal texts of the grammar."""
        found: dict[str, None] = {}
        for node in self._nodes():
            match node:
                case Text(text):
                    found[text] = None
                case RawText(closer, never):
                    found |= dict.fromkeys((closer, *never))
                case QuotedText(quote):
                    found[quote] = None
        return [*found]

    def _nodes(self) -> Iterator[Node]:
        waiting: list[Node] = [self._answer.rules.start, *self._answer.rules.rules.values()]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += inner_nodes(node)

    @property
    def _closers(self) -> Iterator[str]:
        return (node.end for node in self._nodes() if isinstance(node, RawText))

    @cached_property
    def special(self) -> list[str]:
        if not self.tokens:
            return []
        texts = (*self.texts, *self.format.openers, *self.format.closers)
        return sorted({marker for text in texts for marker in _CONTROL.findall(text)})

    @cached_property
    def tokenizer(self) -> Any:
        return byte_tokenizer(self.special)

    @cached_property
    def walker(self) -> Walker:
        ends = [closer for closer in self._closers if len(closer) < 40]
        marks = [mark for text in self.texts for mark in (text, text[:-1], text.strip()) if 1 < len(mark) < 40]
        inner = self.format.engine.inner
        marks += [*self.format.openers, *self.format.closers, *inner.openers, *inner.closers]
        return Walker(
            self.masks, self.tokenizer, [*"\"'}])", *dict.fromkeys((*ends, *self.format.closers))], [*marks, *_OFFERED]
        )

    def accepts(self, text: str) -> bool:
        return self.masks.accepts_tokens(encoded(self.tokenizer, text))

    def leads_to(self, text: str) -> bool:
        """Whether the masks allow each of the text's tokens in turn, and then the end."""
        masks = self.masks.fresh()
        for token in encoded(self.tokenizer, text):
            if not masks.bits()[token // 8] >> token % 8 & 1:
                return False
            masks.take(token)
        return masks.complete

    def stops_at(self, text: str) -> str:
        """For a text that is not in the grammar: the first token that is not allowed, and the text before it."""
        tokens = encoded(self.tokenizer, text)
        at = self.masks.fresh().allowed_of(tokens)
        return f"{decoded(self.tokenizer, tokens[:at])[-40:]!r} -> {decoded(self.tokenizer, tokens[at:])[:20]!r}"

    @property
    def before(self) -> tuple[str, ...]:
        """What may come before calls: text that a start marker ends."""
        return ("", *_TEXTS) if self.choice == "auto" and self._answer.trigger else ("",)

    @property
    def most_calls(self) -> int:
        return 1 if (self.format.name, self.format.variant) in ONE_CALL else 3

    def write(self, calls: Calls) -> str | None:
        """The calls in the format; None if it cannot represent them."""
        try:
            return write(self.format, calls, TOOLS)
        except CannotWrite:
            return None


# --- written texts


def random_value(schema: Any, chance: random.Random) -> Any:
    if "enum" in schema:
        return chance.choice(schema["enum"])
    kind = schema["type"] if isinstance(schema["type"], str) else chance.choice(schema["type"])
    simple: dict[str, Callable[[], Any]] = {
        "string": lambda: chance.choice(_PLAIN),
        "integer": lambda: chance.choice([0, 1, -7, 42, 10**12]),
        "number": lambda: chance.choice([0, 1.5, -2, 3.25e-5, 1e20]),
        "boolean": lambda: chance.random() < 0.5,
        "null": lambda: None,
    }
    if kind in simple:
        return simple[kind]()
    if kind == "array":
        return [random_value(schema["items"], chance) for _ in range(chance.randint(schema.get("minItems", 0), 3))]
    members = [key for key in schema["properties"] if key in schema["required"] or chance.random() < 0.5]
    return {key: random_value(schema["properties"][key], chance) for key in members}


def random_calls(chance: random.Random, most: int = 3) -> Calls:
    names = [chance.choice([*SCHEMAS]) for _ in range(chance.randint(1, most))]
    return [(name, random_value(SCHEMAS[name], chance)) for name in names]


def written(subject: Subject, number: int, seed: int = 7) -> Defects:
    """Written texts that the grammar does not accept, out of this many that the format can represent."""
    chance, defects = random.Random(seed), Defects()
    for _ in range(20 * number):
        if subject.counts["written"] == number:
            break
        whole = subject.write(random_calls(chance, subject.most_calls))
        if whole is None:
            continue
        text = chance.choice(subject.before) + whole
        subject.counts["written"] += 1
        if not subject.leads_to(text):
            defects.append((f"written, not accepted: {subject.stops_at(text)}", text))
        elif why := misread(subject.format, text, content=bool(text[: -len(whole)])):
            defects.append((f"written, not read: {why}", text))
    return defects


def plain(subject: Subject) -> Defects:
    """Outputs without a call that the grammar does not accept."""
    texts = ("", "Just an answer, <b>3 < 4</b>.", *_TEXTS)
    return [(f"text, not accepted: {subject.stops_at(text)}", text) for text in texts if not subject.accepts(text)]


# --- texts that the grammar allows


def misread(format: ToolCallFormat, text: str, *, content: bool = False) -> str | None:
    """Why a text is not as intended: calls that strict reads, valid by their schemas, and nothing else."""
    tolerated = TOLERATED.get((format.name, format.variant))
    parser = Parser(format, tools=TOOLS, strict=tolerated is None)
    names: list[str] = []
    arguments: list[str] = []
    ended = 0
    for event in [*parser.feed(text), *parser.finish()]:
        match event:
            case ToolCallStart():
                names.append(event.name)
                arguments.append("")
            case ToolCallArguments():
                arguments[-1] += event.delta
            case ToolCallEnd():
                ended += 1
                if {*event.tolerated} - {tolerated}:
                    return f"tolerated: {event.tolerated}"
            case ToolCallRejected():
                return f"rejected: {event.reason}"
            case Content() if not content:
                return "content"
            case Content() | Reasoning():
                pass
    if ended != len(names) or (not names and not content):
        return "no call" if not names else "a call without an end"
    for name, arguments_json in zip(names, arguments, strict=True):
        wrong = next(_VALIDATORS[name].iter_errors(json.loads(arguments_json)), None)
        if wrong is not None:
            return f"not valid: {wrong.message[:80]}"
    return None


def walked(subject: Subject, number: int, seed: int = 1) -> Defects:
    """Walks that are not read as they should be; one that does not end does not count."""
    chance, defects = random.Random(seed), Defects()
    for _ in range(4 * number):
        if subject.counts["walked"] == number:
            break
        text = subject.walker.walk(chance)
        if text is None:
            subject.counts["unfinished"] += 1
            continue
        subject.counts["walked"] += 1
        subject.counts["walked characters"] += len(text)
        if why := misread(subject.format, text, content=subject.choice == "auto"):
            defects.append((f"walked, not read: {why}", text))
    return defects


# --- texts that it must not allow


def broken_calls(calls: Calls) -> Iterator[tuple[str, Calls]]:
    """The first call made to break its schema, in eleven ways."""
    name, arguments = calls[0]
    schema = SCHEMAS[name]

    def changed(**more: Any) -> Calls:
        return [(name, arguments | more)]

    yield "unknown tool", [("frobnicate", arguments)]
    yield "extra argument", changed(zzz=1)
    for key in schema["required"]:
        yield "required missing", [(name, {other: value for other, value in arguments.items() if other != key})]
    if name == "get_weather":
        yield "text for an integer", changed(days="three")
        yield "fraction for an integer", changed(days=3.5)
        yield "not of the enum", changed(units="kelvin")
        yield "number for a truth value", changed(detail=1)
    if name == "book":
        yield "item of another type", changed(rooms=[1, "x"])
        yield "too few items", changed(rooms=[])
        yield "required missing inside", changed(who={"age": 3})
        yield "extra member inside", changed(who={"name": "x", "zz": 1})


def broken(subject: Subject, number: int, seed: int = 5) -> Defects:
    """Of the broken calls of so many random ones, those that the grammar accepts, and not as mere text."""
    chance, defects = random.Random(seed), Defects()
    for _ in range(number):
        for kind, calls in broken_calls(random_calls(chance, 1)):
            text = _written_anyway(subject.format, calls)
            if text is not None:
                subject.counts["broken"] += 1
                subject.counts[f"broken: {kind}"] += 1
                text = chance.choice(subject.before) + text
                if subject.accepts(text) and (subject.choice != "auto" or misread(subject.format, text, content=True)):
                    defects.append((f"broken, accepted: {kind}", text))
    return defects


def _written_anyway(format: ToolCallFormat, calls: Calls) -> str | None:
    """What the engine writes, unchecked."""
    try:
        return format.writer.write(
            calls, lambda name, *path: parameter_types(SCHEMAS.get(name, {}), *path) if path else None
        )
    except (CannotWrite, ValueError, TypeError, KeyError, IndexError):
        return None


def damaged_text(text: str, chance: random.Random) -> str:
    """A text with up to four characters removed, something inserted, or the rest cut off."""
    at, draw = chance.randrange(len(text)), chance.random()
    if draw < 0.45:
        return text[:at] + text[at + chance.randint(1, 4) :]
    if draw < 0.9:
        put: str = chance.choice(['"', *"}{<>x\n,]'", text[max(0, at - 9) : at]])
        return text[:at] + put + text[at:]
    return text[:at]


def damaged(subject: Subject, number: int, seed: int = 6) -> Defects:
    """Damaged texts that the grammar accepts and strict rejects."""
    chance, defects = random.Random(seed), Defects()
    for _ in range(20 * number):
        if subject.counts["damaged"] >= number:
            break
        text = subject.write(random_calls(chance, min(2, subject.most_calls)))
        for _ in range(12 if text else 0):
            assert text is not None
            damage = damaged_text(text, chance)
            if damage == text:
                continue
            subject.counts["damaged"] += 1
            if subject.accepts(damage):
                subject.counts["damaged, accepted"] += 1
                if why := misread(subject.format, damage, content=subject.choice == "auto"):
                    defects.append((f"damaged, accepted, not read: {why}", damage))
    return defects
