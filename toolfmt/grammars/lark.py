"""Export grammars for the Lark library, to be parsed by its Earley parser with its dynamic lexer.

    lark.Lark(plain_lark(rules).text, parser="earley", lexer="dynamic")

They are the oracle of the parser tests: independent of the parsers and complete (a JSON Schema becomes rules too).
hypothesis' `from_lark` generates sentences of them. Written against Lark 1.3: its documentation, *Grammar Reference*.
How it handles escapes is documented only in its source (`lark.load_grammar.eval_escaping`). This module imports no
package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolfmt.formats.grammar.json_nodes import json_nodes
from toolfmt.formats.values.nodes import (
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
)

ANY_ORDER = 6
"""Maximum number of members in any order: each set of members already written is a rule."""
DECLARED_ORDER = "declared-order"
"""The name of the limit for a grammar with more members."""


@dataclass(frozen=True)
class Terminal:
    """The source of a terminal: a node, and the Python regular expression that fully matches every text of it.

    `Whitespace` and a `FreeText` may be empty, but terminals of Lark may not: their terminals exclude the empty text.
    """

    node: Node
    pattern: str


@dataclass(frozen=True)
class PlainLark:
    """A grammar's text, its terminals except plain literals, by name, and how it is narrower than requested.

    Generators of sentences can choose the texts of a terminal (`from_lark(…, explicit=)`). A `RawText` ends with its
    node's `closer`, a `QuotedText` with its `quote`.
    """

    text: str
    terminals: Mapping[str, Terminal]
    narrower: tuple[str, ...] = ()


def plain_lark(rules: Rules) -> PlainLark:
    """Return the grammar in Lark's syntax. Its rule `start` is the start of the rules.

    More than `ANY_ORDER` members of one object are in declared order, and `narrower` lists this. Raises
    `NotConstrained` for a JSON Schema that cannot become rules, and `KeyError` for a missing rule.
    """
    writer = _Writer()
    lines = [f"start: {writer.symbol(rules.start, rules)}", *writer.lines]
    lines += [f"{name}: /{_in_slashes(terminal.pattern)}/" for name, terminal in writer.terminals.items()]
    return PlainLark("\n".join(lines) + "\n", writer.terminals, (*dict.fromkeys((*rules.narrower, *writer.narrower)),))


class _Writer:
    """Creates a rule for every node that is not a plain literal. Equal nodes share a rule.

    Rule names are only valid in the `Rules` that contain them (`scope`): the lowered schema of every `JsonValue` has
    its own.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.terminals: dict[str, Terminal] = {}
        self.narrower: list[str] = []
        self._symbols: dict[tuple[int, Node], str] = {}
        self._lowered: dict[JsonValue, Rules] = {}
        self._terminal_names: dict[str, str] = {}

    def symbol(self, node: Node, scope: Rules) -> str:
        """Return the node's symbol in an expansion: a literal, a terminal, a rule name, or an empty string for
        `EMPTY`.
        """
        plain = self._plain(node)
        if plain is not None:
            return plain
        if isinstance(node, JsonValue):
            if node not in self._lowered:
                self._lowered[node] = json_nodes(node.schema, node.exact)
                self.narrower += self._lowered[node].narrower
            scope = self._lowered[node]
            return self.symbol(scope.start, scope)
        key = (id(scope), node)
        if key not in self._symbols:
            name = self._symbols[key] = f"r{len(self._symbols)}"
            self.lines.append("")
            at = len(self.lines) - 1
            self.lines[at] = f"{name}: {self._expansion(node, scope, name)}"
        return self._symbols[key]

    def _plain(self, node: Node) -> str | None:
        """Return the node if it is a literal or a terminal, None if it needs a rule."""
        if isinstance(node, Text):
            return _literal(node.text)
        if isinstance(node, Pattern):
            return self._terminal("PATTERN", node, node.pattern)
        if isinstance(node, QuotedText):
            quote = _pattern(node.quote)
            escape = rf"\\(?:[\\{quote}nrtbf]|u(?![dD][89a-fA-F])[0-9a-fA-F]{{4}})"
            character = rf"(?:[^{quote}\\\x00-\x1f]|{escape})"
            return self._terminal("QUOTED", node, character + _times(node.least, node.most) + quote)
        if isinstance(node, RawText):
            return self._raw(node)
        return None

    def _raw(self, node: RawText) -> str:
        """The text and its end marker are one terminal, because what it cannot contain determines its end."""
        character = _any_but(node.end, node.end.strip(), *node.never)
        return self._terminal("RAW", node, character + _times(node.least, node.most) + _pattern(node.end))

    def _terminal(self, kind: str, node: Node, pattern: str) -> str:
        if pattern not in self._terminal_names:
            name = self._terminal_names[pattern] = f"{kind}{len(self.terminals)}"
            self.terminals[name] = Terminal(node, pattern)
        return self._terminal_names[pattern]

    def _expansion(self, node: Node, scope: Rules, name: str) -> str:
        """Return the expansion of the rule of this name, which was made for the node."""
        if isinstance(node, Rule):
            return self.symbol(scope.rules[node.name], scope)
        if isinstance(node, Row):
            return " ".join(filter(None, (self.symbol(part, scope) for part in node.parts)))
        if isinstance(node, Either):
            return " | ".join(dict.fromkeys(self.symbol(part, scope) for part in node.parts))
        if isinstance(node, Maybe):
            return f"{self.symbol(node.part, scope)} |"
        if isinstance(node, Whitespace):
            return self._terminal("BLANKS", node, r"[ \t\r\n]+") + " |"
        if isinstance(node, FreeText):
            first = f"(?!{_pattern(node.not_first)})" if node.not_first else ""
            return self._terminal("FREE", node, f"{first}{_any_but(*node.without)}+") + " |"
        if isinstance(node, Repeated):
            return self._repeated(node, scope)
        if isinstance(node, Members):
            return self._members(node, scope, name)
        raise TypeError(f"no node of grammars: {node!r}")

    def _repeated(self, node: Repeated, scope: Rules) -> str:
        part, separator = self.symbol(node.part, scope), self.symbol(node.separator, scope)
        another = f"{separator} {part}".strip()
        if node.most is None:
            return " ".join((part, *[another] * (node.least - 1), f"({another})*"))
        return f"{part} ({another})~{node.least - 1}..{node.most - 1}" if node.most > 1 else part

    def _members(self, node: Members, scope: Rules, name: str) -> str:
        """Which member may follow depends on those already written.

        There is a rule for each set of them if any order is allowed, else for each position in their order.
        """
        symbols = [self.symbol(item.node, scope) for item in node.items]
        separator = self.symbol(node.separator, scope)
        required = {at for at, item in enumerate(node.items) if item.required}
        if free := len(symbols) <= ANY_ORDER:
            states = [{at for at in range(len(symbols)) if number >> at & 1} for number in range(1 << len(symbols))]
        else:
            states = [set(range(written)) for written in range(len(symbols) + 1)]
            self.narrower.append(DECLARED_ORDER)

        def following(passed: set[int], lead: str) -> str:
            """Return the members that may follow these, each with the rule of what may follow it, or nothing."""
            expansions = []
            for at, symbol in enumerate(symbols):
                then = passed | ({at} if free else set(range(at + 1)))
                if at not in passed and (free or not required & (then - passed - {at})):
                    expansions.append(" ".join(filter(None, (lead, symbol, f"{name}_{states.index(then)}"))))
            return " | ".join((*expansions, "") if required <= passed else expansions)

        for number, passed in enumerate(states[1:], 1):
            self.lines.append(f"{name}_{number}: {following(passed, separator)}")
        return following(set(), "")


def _times(least: int, most: int | None) -> str:
    return "*" if not least and most is None else f"{{{least},{'' if most is None else most}}}"


def _any_but(*never: str) -> str:
    """Return a pattern for one character at which none of these texts begins."""
    texts = "|".join(map(_pattern, dict.fromkeys(filter(None, never))))
    return rf"(?:(?!{texts})[\s\S])" if texts else r"[\s\S]"


def _pattern(text: str) -> str:
    """Return a regular expression that matches exactly this text, also inside a character class."""
    return "".join(
        character if character.isalnum() or character in " _<>/\"'" else _escaped(character) for character in text
    )


def _escaped(character: str) -> str:
    if character.isprintable():
        return f"\\{character}" if character.isascii() else character
    return f"\\U{ord(character):08x}"


def _in_slashes(pattern: str) -> str:
    """Return a regular expression between slashes. Lark processes escapes itself first, and handles quotes wrongly."""
    characters = iter(pattern)
    parts = []
    for character in characters:
        pair = character + next(characters, "") if character == "\\" else character
        parts.append({'"': r"\x22", '\\"': r"\x22", "/": r"\/", "\n": r"\n", "\r": r"\r"}.get(pair, pair))
    return "".join(parts)


def _literal(text: str) -> str:
    """Return a string as a literal of Lark, or an empty string for the empty text."""
    if not text:
        return ""
    characters = (
        r"\x22" if character == '"' else r"\\" if character == "\\" else _printable(character) for character in text
    )
    return f'"{"".join(characters)}"'


def _printable(character: str) -> str:
    return character if character.isprintable() else f"\\U{ord(character):08x}"
