"""A grammar with what parsers skip, for the oracle: whatever a strict parser accepts must be in it.

Writers write whitespace as the templates of a family do; parsers skip whitespace (space, tab, newlines) next to every
marker, between the tokens of JSON and of code, before and after a value, and next to a name or a key in its tag. JSON
has more ways to write a string or a number than a grammar lets a model use. Some markers have other forms (`Spelling`).
Nothing else is loosened: no other text is left out, and none added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolfmt.formats.grammar.json_nodes import json_nodes
from toolfmt.formats.grammar.number_patterns import INTEGER, NUMBER
from toolfmt.formats.values.nodes import (
    EMPTY,
    Either,
    JsonValue,
    Maybe,
    Member,
    Members,
    Node,
    Pattern,
    QuotedText,
    RawText,
    Repeated,
    Row,
    Rule,
    Rules,
    Text,
    Whitespace,
)
from toolfmt.grammars.lark import ANY_ORDER

_BORDERS = re.compile(r"""\s+|(?<=[>\[\]="'])|(?=[<>\[\]="'/])""")
"""Where whitespace is skipped: next to every tag, bracket, quote and equals sign."""
_DELIMITERS = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|([{}():,])""")
_JSON_KEY = re.compile(r"""["']\s*:""")
_CALL_NUMBER = re.compile(r"\[0-9\]\{[0-9]+(?:,[0-9]+)?\}")
_LETTERS = re.compile(r"[A-Za-z_]*$")
_ID_MEMBER = re.compile(r"""(,\s*)?["'](?:id|tool_call_id)["']\s*:\s*["']$""")
_COMMA = re.compile(r"\s*,\s*")
_WORD = r"[\w.:/$@+\-]+"
_JSON_STRING = r'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))'
_CODE_STRING = (
    r"(?:[^%s\\\x00-\x1f]|\\(?:[^xuUN]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}))"
)
"""Python's rule: a backslash before a character that is not an escape stays one."""


@dataclass(frozen=True)
class Spelling:
    """A text of the grammar, and other texts that a parser accepts instead."""

    text: str
    also: tuple[str, ...]
    often: bool = False
    """Whether any number of them is allowed there, or none."""


class Loosening:
    """Loosens the rules of a format; `between` are texts that may be missing between two calls."""

    def __init__(self, spellings: Sequence[Spelling] = (), between: Sequence[str] = ()) -> None:
        self._spellings = sorted(spellings, key=lambda one: -len(one.text))
        self._between = [Spelling(text, ("",)) for text in between]

    def rules(self, *spellings: Rules) -> Rules:
        """The same rules, loosened: an output may have frames of any of them, one after the other."""
        self._rules: dict[str, Node] = {}
        starts = []
        for at, rules in enumerate(spellings):
            self._prefix = f"spelling{at}_"
            starts.append(self._loose(rules.start))
            self._rules |= {self._prefix + name: self._loose(node) for name, node in rules.rules.items()}
        return Rules(Repeated(Either(tuple(dict.fromkeys(starts))), Whitespace()), self._rules)

    def _loose(self, node: Node) -> Node:
        match node:
            case Text(text):
                return _spelt(text, self._spellings)
            case Row(parts):
                return Row(tuple(map(self._loose, _with_any_id(parts))))
            case Either(parts):
                return Either(tuple(dict.fromkeys(map(self._loose, parts))))
            case Maybe(part):
                return Maybe(self._loose(part))
            case Repeated():
                return replace(node, part=self._loose(node.part), separator=self._separator(node.separator))
            case Members():
                items = tuple(Member(self._loose(item.node), item.required) for item in node.items)
                return _any_order(items, EMPTY if node.separator == EMPTY else self._loose(node.separator))
            case JsonValue(schema):
                return self._json(schema)
            case RawText(closer):
                bare = replace(node, end=closer.strip()) if closer.strip() else node
                return Row((Either((bare, _up_to_its_line(node))), Whitespace()))
            case QuotedText(quote):
                return Pattern(_CODE_STRING % quote + _times(node) + quote)
            case Pattern():
                return Row((Whitespace(), _number(node), Whitespace()))
            case Rule(name):
                return Rule(self._prefix + name)
            case _:
                return node

    def _separator(self, separator: Node) -> Node:
        if isinstance(separator, Text) and separator != EMPTY:
            return _spelt(separator.text, [*self._spellings, *self._between])
        return Whitespace() if separator == EMPTY else self._loose(separator)

    def _json(self, schema: str) -> Node:
        """A value with whitespace wherever JSON allows it, its strings and numbers in any of JSON's forms."""
        lowered = json_nodes(schema, False, f"schema{len(self._rules)}").map(_any_json)
        self._rules |= lowered.rules
        self._rules[f"schema{len(self._rules)}"] = EMPTY  # so that each schema has its own names
        return Row((Whitespace(), lowered.start, Whitespace()))


def _any_json(node: Node) -> Node:
    match node:
        case Row(parts):
            return Row(tuple(map(_any_json, parts)))
        case Either(parts):
            return Either(tuple(map(_any_json, parts)))
        case Maybe(part):
            return Maybe(_any_json(part))
        case Repeated(part):
            return replace(node, part=_any_json(part))
        case Members():
            return _any_order(tuple(Member(_any_json(item.node), item.required) for item in node.items), node.separator)
        case QuotedText(quote):
            return Pattern(_JSON_STRING + _times(node) + quote)
        case Pattern():
            return _number(node)
        case _:
            return node


def _any_order(items: tuple[Member, ...], separator: Node) -> Node:
    """Members in any order; if there are many, uncounted: the schemas are checked separately from the grammar."""
    if len(items) <= ANY_ORDER:
        return Members(items, separator)
    return Maybe(Repeated(Either(tuple(item.node for item in items)), separator))


def _number(node: Pattern) -> Pattern:
    if NUMBER in node.pattern:
        return Pattern(node.pattern.replace("{1,2}", "+"))
    return Pattern(f"{INTEGER}(\\.0+)?") if node.pattern in (INTEGER, f"({INTEGER})") else node


def _times(node: QuotedText | RawText) -> str:
    return f"{{{node.least},{'' if node.most is None else node.most}}}"


def _spelt(text: str, spellings: Sequence[Spelling]) -> Node:
    """The words of a text with spaces between and around them, in each form."""
    for one in spellings:
        before, found, after = text.partition(one.text)
        if found:
            others = Either(tuple(map(_spaced, (one.text, *one.also))))
            middle = Maybe(Repeated(others)) if one.often else others
            return Row((_spelt(before, spellings), middle, _spelt(after, spellings)))
    return _spaced(text)


def _spaced(text: str) -> Node:
    parts: list[Node] = [Whitespace()]
    for word in _words(text):
        parts += [Text(word), Whitespace()]
    return Row(tuple(parts))


def _words(text: str) -> Iterator[str]:
    borders = re.compile(r"\s+") if _JSON_KEY.search(text) else _BORDERS
    for piece in filter(None, borders.split(text)):
        yield from (word for word in _DELIMITERS.split(piece) if word and word.strip())


def _up_to_its_line(node: RawText) -> Node:
    """A value on its own lines may contain its end marker where that begins no line."""
    never = (node.end, *(text for text in node.never if text != node.end.strip()))
    texts = "|".join(map(_escaped, never))
    return Pattern(rf"(?:(?!{texts})[\s\S]){_times(node)}{_escaped(node.end)}")


def _escaped(text: str) -> str:
    return re.escape(text).replace("\\\n", r"\n")


def _with_any_id(parts: Sequence[Node]) -> list[Node]:
    """The part that the writer makes of a call's number may be any other word; an id that is a separate member may be
    missing.

    The parts are a text up to the number, its pattern, and the text after it.
    """
    changed = list(parts)
    for at, part in enumerate(parts):
        if not isinstance(part, Pattern) or not _CALL_NUMBER.fullmatch(part.pattern):
            continue
        before = changed[at - 1] if at else EMPTY
        after = changed[at + 1] if at + 1 < len(changed) else EMPTY
        assert isinstance(before, Text)
        assert isinstance(after, Text)
        lead, quote = _LETTERS.sub("", before.text), after.text[:1]
        member = _ID_MEMBER.search(lead)
        if member is None:
            word = rf"(?:[^{quote}\\]|\\.)+" if quote and quote in "\"'" else _WORD
            changed[at - 1 : at + 1] = [Text(lead), Maybe(Pattern(word))]
            continue
        comma = "" if member[1] else (_COMMA.match(after.text, 1) or [""])[0]
        inside = Row((Text(member.group()), Maybe(Pattern(rf"(?:[^{quote}\\]|\\.)+")), Text(quote + comma)))
        rest = Text(after.text[1 + len(comma) :])
        changed[at - 1 : at + 2] = [Text(lead[: member.start()]), Maybe(inside), rest]
    return changed
