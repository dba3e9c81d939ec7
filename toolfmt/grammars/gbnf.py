r"""Export nodes as GBNF for llama.cpp, and as XGrammar's EBNF, which is nearly the same.

Neither supports lookahead or negation. A string up to a marker is written as an automaton (`stops`). Members in any
order are written as a rule for each set of members that already exist. There are 2^n sets; if that is too many, the
members are in declared order, and `narrower` contains "declared-order".

Sources: llama.cpp `grammars/README.md` and `src/llama-grammar.cpp` (November 2026; the same rules in llama-cpp-python
0.3.36), XGrammar 0.2.8 `cpp/grammar_parser.cc` and `docs/defining_structures/ebnf_grammar.md`. The output uses only
what both parse in the same way: names of letters, digits and `-`; the escapes `\n \r \t \" \\ \uXXXX \UXXXXXXXX` (`\x`
takes two digits in one and any number in the other; only one knows `\^`; `[^]` is a broken rule in one and any
character in the other); no left recursion. llama.cpp rejects counts of 2,000 and more, or treats them as unbounded, so
large counts are written as rules. Therefore one text works for both, and the engine need not be specified.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType

from toolfmt.errors import CannotConstrain
from toolfmt.formats.grammar.json_nodes import json_nodes
from toolfmt.formats.values.nodes import (
    EMPTY,
    Either,
    FreeText,
    JsonValue,
    Maybe,
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
    either,
    inner_nodes,
    row,
    with_inner,
)
from toolfmt.grammars.ends import may_end_early
from toolfmt.grammars.exported import Exported
from toolfmt.grammars.expressions import Characters, nodes_of
from toolfmt.grammars.marker_tokens import MarkerTokens, Token
from toolfmt.grammars.merged_alternatives import merged_alternatives
from toolfmt.grammars.stops import END, State, TooLarge, free_states, text_states

DECLARED_ORDER = "declared-order"
"""Members are in declared order only: there are too many of them for every order."""
BOUNDED_TEXT = "bounded-text-without-marker-starts"
"""A raw text with a limited length has no first character of a marker: counting both takes too many states."""

_MEMBER_SETS = 4096
"""Maximum number of rules for sets of members in a grammar, over all tools."""
_MEMBERS = 7
"""Maximum number of members in any order."""
_TEXT_STATES = 3000
"""Maximum number of states of a string with a limited length."""
XGRAMMAR_TEXT_STATES = 300
"""The same for XGrammar, which compiles 1,475 states in 27 s (129,000 tokens, one thread; measured 2026-11)."""
_LARGEST_COUNT = 100
"""Larger counts are written as rules: both engines then parse 20,000 characters ten times faster (measured 2026-11)."""
_ANY = r"[\u0000-\U0010FFFF]"
_NOTHING = '""'
_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", '"': r"\"", "\\": r"\\"}
_CLASS_CHARACTERS = '[]^-"\\'


def gbnf(
    rules: Rules, tokens: Mapping[str, int] = MappingProxyType({}), *, most_states: int = _TEXT_STATES
) -> Exported:
    """Return the rules as a grammar with the start rule `root`.

    Markers of `tokens` are written as XGrammar's `Token(ID)` (`marker_tokens.py`). A string with a limited length has
    at most `most_states` states.

    Raises `NotConstrained` for a schema value without nodes, and `CannotConstrain` for a text length that it cannot
    express.
    """
    writer = _Writer(most_states)
    start = may_end_early(writer.resolved(rules))
    if tokens:
        start = writer.with_tokens(start, MarkerTokens(tokens))
    writer.choose_orders([start, *writer.named.values()])
    text = writer.grammar(start)
    return Exported(text, tuple(dict.fromkeys(writer.narrower)))


class _Writer:
    """The rules written so far, by name. Each node is written once."""

    def __init__(self, most_states: int) -> None:
        self._most_states = most_states
        self._rules: dict[str, str] = {}
        self._symbols: dict[Node, str] = {}
        self._largest_set = _MEMBERS
        self._values: dict[JsonValue, Node] = {}
        self.named: dict[str, Node] = {}
        self.narrower: list[str] = []

    # ---- combining rules of several sources

    def resolved(self, rules: Rules) -> Node:
        """Return the start node, after adding the rules, including those of every JSON value in them."""
        self.narrower += rules.narrower
        names = self._free_names(rules.rules)
        start = _renamed(rules.start, names)
        named = {names[name]: _renamed(node, names) for name, node in rules.rules.items()}
        self.named.update(named)
        for value in _all_nodes([start, *named.values()]):
            if isinstance(value, JsonValue) and value not in self._values:
                self._values[value] = self._value(value)
        return start

    def _value(self, value: JsonValue) -> Node:
        return self.resolved(json_nodes(value.schema, value.exact, f"json{len(self._values)}"))

    def _free_names(self, rules: Mapping[str, Node]) -> dict[str, str]:
        """Return the names unchanged, or all with a numeric suffix if one of them is already used for another rule."""
        for number in count():
            names = {name: f"{name}-{number}" if number else name for name in rules}
            if all(self.named.get(names[name]) in (None, _renamed(node, names)) for name, node in rules.items()):
                return names
        raise AssertionError("numbers do not end")

    def with_tokens(self, start: Node, markers: MarkerTokens) -> Node:
        """Return the start node with tokens in place of markers, after replacing them in all rules."""
        start, narrower = markers.replaced(start)
        for name, node in self.named.items():
            self.named[name], narrower_rule = markers.replaced(node)
            narrower = narrower or narrower_rule
        self.narrower += [BOUNDED_TEXT] * narrower
        return start

    def choose_orders(self, nodes: Iterable[Node]) -> None:
        """Choose how many members may be in any order so that the number of sets stays within the limit."""
        known = _all_nodes([*nodes, *self._values.values()])
        sizes = [len(node.items) for node in dict.fromkeys(node for node in known if isinstance(node, Members))]
        while self._largest_set > 1 and sum(2**size for size in sizes if size <= self._largest_set) > _MEMBER_SETS:
            self._largest_set -= 1
        if any(size > self._largest_set for size in sizes):
            self.narrower.append(DECLARED_ORDER)

    # ---- nodes

    def grammar(self, start: Node) -> str:
        self._rules["root"] = ""
        self._rules["root"] = self._body("root", start)
        return "".join(f"{name} ::= {body}\n" for name, body in self._rules.items())

    def _symbol(self, node: Node) -> str:
        """Return the node as one element of a sequence: a literal, a character class, or a rule's name."""
        if isinstance(node, Text):
            return _literal(node.text)
        if isinstance(node, Characters):
            return _class(node)
        if isinstance(node, Token):
            return f"Token({node.id})"
        if isinstance(node, JsonValue):
            return self._symbol(self._values[node])
        if isinstance(node, Row) and len(node.parts) == 1:
            return self._symbol(node.parts[0])
        if node not in self._symbols:
            name = self._symbols[node] = self._name(node)
            self._rules[name] = ""  # keeps the rules in the order in which they are first used
            self._rules[name] = self._body(name, self.named[node.name] if isinstance(node, Rule) else node)
        return self._symbols[node]

    def _name(self, node: Node) -> str:
        if not isinstance(node, Rule):
            return f"{type(node).__name__.lower().lstrip('_')}-{len(self._symbols)}"
        words = re.sub(r"[^a-z0-9]+", "-", node.name.lower()).strip("-")
        return f"rule-{words}-{len(self._symbols)}"

    def _body(self, name: str, node: Node) -> str:
        """Return what follows `::=`."""
        match node:
            case Row():
                return self._row(node.parts)
            case Either():
                return " | ".join(self._symbol(part) for part in merged_alternatives(node.parts))
            case Maybe(Repeated(part, separator, 1, None)) if separator == EMPTY:
                return f"{self._symbol(part)}*"
            case Maybe():
                return f"{self._symbol(node.part)}?"
            case Repeated():
                return self._repeated(node)
            case Members():
                return self._members(name, node)
            case RawText():
                return self._raw_text(name, node)
            case FreeText():
                return self._states(name, free_states(node.without, node.not_first))
            case QuotedText():
                return self._quoted_text(name, node)
            case Pattern():
                return self._body(name, nodes_of(node.pattern))
            case Whitespace():
                return r"[ \t\r\n]*"
            case _Exactly():
                return self._exactly(node)
            case _UpTo():
                return self._up_to(node)
            case _:
                return self._symbol(node)

    def _row(self, parts: Iterable[Node]) -> str:
        return " ".join(self._symbol(part) for part in parts if part != EMPTY) or _NOTHING

    def _repeated(self, node: Repeated) -> str:
        if node.separator == EMPTY:
            return self._times(node.part, node.least, node.most) or _NOTHING
        most = None if node.most is None else node.most - 1
        following = self._times(row(node.separator, node.part), max(node.least - 1, 0), most)
        return f"{self._symbol(node.part)} {following}".rstrip()

    def _times(self, part: Node, least: int, most: int | None) -> str:
        """Return the repeated part as elements of a sequence. None of them is the empty text."""
        if max(least, most or 0) > _LARGEST_COUNT:
            parts = [self._symbol(_Exactly(part, least))] if least else []
            rest = f"{self._symbol(part)}*" if most is None else self._symbol(_UpTo(part, most - least))
            return " ".join([*parts, rest] if most != least else parts)
        symbol = self._symbol(part)
        match least, most:
            case _, 0:
                return ""
            case 1, 1:
                return symbol
            case 0, 1:
                return f"{symbol}?"
            case 0, None:
                return f"{symbol}*"
            case 1, None:
                return f"{symbol}+"
            case _:
                bounds = f"{least}" if least == most else f"{least}," if most is None else f"{least},{most}"
                return f"{symbol}{{{bounds}}}"

    def _exactly(self, node: _Exactly) -> str:
        half = self._symbol(_Exactly(node.part, node.count // 2)) if node.count > 1 else ""
        return f"{half} {half} {self._symbol(node.part) if node.count % 2 else ''}".strip()

    def _up_to(self, node: _UpTo) -> str:
        """Fewer than half of them, or half of them and then the rest, so that each count has one derivation."""
        if node.most == 0:
            return _NOTHING
        half = (node.most + 1) // 2
        fewer = self._symbol(_UpTo(node.part, half - 1))
        return f"{fewer} | {self._symbol(_Exactly(node.part, half))} {self._symbol(_UpTo(node.part, node.most - half))}"

    # ---- members

    def _members(self, name: str, node: Members) -> str:
        if not node.items:
            return _NOTHING
        if len(node.items) > self._largest_set:
            return self._in_declared_order(name, node)
        return self._in_any_order(name, node)

    def _in_any_order(self, name: str, node: Members) -> str:
        """Return a rule for each set of members that already exist: one more of the others, or the end."""
        items = [self._symbol(item.node) for item in node.items]
        required = sum(1 << at for at, item in enumerate(node.items) if item.required)
        separator = self._separator(node)
        bodies: dict[int, str] = {}
        for given in range(1 << len(items)):
            lead = separator if given else ""
            ways = [f"{lead}{item} {name}-{given | 1 << at}" for at, item in enumerate(items) if not given >> at & 1]
            bodies[given] = " | ".join([*ways, *([_NOTHING] if given & required == required else [])])
        self._rules.update((f"{name}-{given}", body) for given, body in bodies.items() if given)
        return bodies[0]

    def _in_declared_order(self, name: str, node: Members) -> str:
        """Return two rules per member: what may follow from it on without an earlier member, and with one."""
        separator, last = self._separator(node), len(node.items)
        self._rules[f"{name}-a{last}"] = self._rules[f"{name}-b{last}"] = _NOTHING
        for at, item in reversed(list(enumerate(node.items))):
            symbol = self._symbol(item.node)
            for state, lead in (("a", ""), ("b", separator)):
                without = [] if item.required else [f"{name}-{state}{at + 1}"]
                self._rules[f"{name}-{state}{at}"] = " | ".join([f"{lead}{symbol} {name}-b{at + 1}", *without])
        return f"{name}-a0"

    def _separator(self, node: Members) -> str:
        return "" if node.separator == EMPTY else f"{self._symbol(node.separator)} "

    # ---- texts

    def _raw_text(self, name: str, node: RawText) -> str:
        bounded = node.least > 0 or node.most is not None
        try:
            limit = self._most_states if bounded else None
            states = text_states(node.end, node.never, node.least, node.most, limit=limit)
        except TooLarge:
            if BOUNDED_TEXT not in self.narrower:
                self.narrower.append(BOUNDED_TEXT)
            starts = sorted({text[0] for text in (node.end, *node.never) if text})
            plain = Characters(tuple((start, start) for start in starts), but=True)
            return f"{self._times(plain, node.least, node.most)} {_literal(node.end)}"
        if not states[0].moves and states[0].other is None and not states[0].ends:
            raise CannotConstrain(f"no text of {node.least} to {node.most} characters can stand before {node.end!r}")
        return self._states(name, states)

    def _states(self, name: str, states: list[State]) -> str:
        """Add a rule for each state, and return the first one's body."""

        def rule(state: int) -> str:
            return f"{name}-{state}" if state else name

        bodies = []
        for state in states:
            ways = []
            if state.other is not None:
                outside = "".join(character for character, _ in state.moves) + state.rejected
                ways.append(f"{_class(_any_of(outside, but=True))} {rule(state.other)}")
            targets: dict[int, str] = {}
            for character, to in state.moves:
                targets[to] = targets.get(to, "") + character
            for to, characters in targets.items():
                symbol = _literal(characters) if len(characters) == 1 else _class(_any_of(characters))
                ways.append(symbol if to == END else f"{symbol} {rule(to)}")
            bodies.append(" | ".join([*ways, *([_NOTHING] if state.ends else [])]))
        self._rules.update((rule(at), body) for at, body in enumerate(bodies) if at)
        return bodies[0]

    def _quoted_text(self, name: str, node: QuotedText) -> str:
        """Return characters as they are, or escaped. An escape of four digits is not half of a surrogate pair.

        Up to a limit, there is a rule for each number of characters, which refers to the next one: XGrammar then has
        the masks ready. With a repetition of a rule, each mask takes milliseconds (measured 2026-11).
        """
        quote, least, most = _literal(node.quote), node.least, node.most
        itself = Characters(((node.quote, node.quote), ("\\", "\\"), ("\0", "\x1f")), but=True)
        digits = "[0-9a-fA-F]"
        coded = Pattern(f"u([0-9a-cA-CefEF]{digits}{{3}}|[dD][0-7]{digits}{{2}})")
        escaped = row("\\", either(_any_of(f"{node.quote}\\nrtbf"), coded))
        last = least if most is None else most
        if last > _LARGEST_COUNT:
            return f"{self._times(either(itself, escaped), least, most)} {quote}".strip()
        bodies = []
        for given in range(last + 1):
            following = min(given + 1, last)
            then = f"{name}-{following}" if following else name
            more = [f"{symbol} {then}" for symbol in (_class(itself), self._symbol(escaped))]
            bodies.append(" | ".join([*[quote] * (given >= least), *(more if given < last or most is None else [])]))
        self._rules.update((f"{name}-{given}", body) for given, body in enumerate(bodies) if given)
        return bodies[0]


@dataclass(frozen=True)
class _Exactly(Node):
    """The part exactly `count` times, which is at least once."""

    part: Node
    count: int


@dataclass(frozen=True)
class _UpTo(Node):
    """The part zero to `most` times."""

    part: Node
    most: int


# ---- syntax


def _literal(text: str) -> str:
    return '"' + "".join(_spelt(character) for character in text) + '"'


def _class(node: Characters) -> str:
    if not node.ranges:
        return _ANY
    spelt = (_ranged(first, last) for first, last in node.ranges)
    return f"[{'^' if node.but else ''}{''.join(spelt)}]"


def _ranged(first: str, last: str) -> str:
    return _in_class(first) if first == last else f"{_in_class(first)}-{_in_class(last)}"


def _in_class(character: str) -> str:
    return _coded(character) if character in _CLASS_CHARACTERS else _spelt(character)


def _spelt(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else _coded(character)


def _coded(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _any_of(characters: str, *, but: bool = False) -> Characters:
    return Characters(tuple((character, character) for character in characters), but)


# ---- walks


def _all_nodes(nodes: Iterable[Node]) -> list[Node]:
    """Return the nodes and all nodes inside of them, each once, compared by identity because hashing is slow."""
    found: dict[int, Node] = {}
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting += inner_nodes(node)
    return list(found.values())


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    """Return the node with the rules in it renamed."""
    if isinstance(node, Rule):
        return Rule(names.get(node.name, node.name))
    if all(name == new for name, new in names.items()):
        return node
    return with_inner(node, lambda inner: _renamed(inner, names))
