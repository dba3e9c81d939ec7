r"""Export grammars in llguidance's variant of Lark, which vLLM, SGLang and llama.cpp also support.

`llguidance(rules, tokens)` walks over the nodes and imports no package. Contract as in llguidance 1.9, docs/syntax.md,
docs/parametric.md and parser/src/lark:

- A terminal matches as much as it can, so no literal may be the beginning of another. They are split where they differ,
  over the whole grammar. A raw text and its end marker are one terminal, without a complement if that stays small,
  because masks are then fast (`positive`).
- A token for a marker is not text in the grammar: it is referenced by its id, and `.` does not match it. The marker's
  text is matched, and a parser cannot distinguish them, so raw texts exclude both.
- Expressions are those of Rust's regex, in which `\<` is the beginning of a word.
- A rule has one parameter of 64 bits, used here for the set of members already written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

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
    inner_nodes,
)
from toolfmt.grammars.exported import Exported
from toolfmt.grammars.llguidance_schemas import FORMATS, held_schema
from toolfmt.grammars.marker_tokens import MarkerTokens
from toolfmt.grammars.positive import closed_text, literally, open_text

MOST_IN_ANY_ORDER = 64
"""Maximum number of members in any order: the bits of a rule's parameter. More members form groups in order."""
_ANY = "(?s:.)"
_SPELT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
_WHITESPACE_ANYWHERE = {"whitespace_flexible": True}
_ESCAPE = r"\\([\\%snrtbf]|u([0-9a-ce-fA-CE-F][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}))"


def llguidance(rules: Rules, tokens: Mapping[str, int]) -> Exported:
    """Return the grammar as a string that begins with `%llguidance {}`.

    `tokens` are the markers that are one token of the tokenizer, with their ids. It can be narrower than the rules by
    two limits. With `declared-order`, members are in declared order (those of JSON objects, and groups of
    `MOST_IN_ANY_ORDER` if there are more). `format` means that a schema has one (those of `toolfmt.grammar` have none).
    Raises `CannotConstrain` for a schema that llguidance cannot enforce.
    """
    ways = dict.fromkeys((*rules.narrower, *_narrower(rules)))
    return Exported(_Writer(rules, tokens).text(), tuple(ways))


def _narrower(rules: Rules) -> list[str]:
    """Return how this grammar format allows less than the rules."""
    ways = set()
    for node in _all_nodes(rules):
        if isinstance(node, Members) and len(node.items) > MOST_IN_ANY_ORDER:
            ways.add("declared-order")
        for part in _mappings(json.loads(node.schema)) if isinstance(node, JsonValue) else ():
            properties, format = part.get("properties"), part.get("format")
            if isinstance(properties, dict) and len(properties) > 1:
                ways.add("declared-order")
            if isinstance(format, str) and format in FORMATS:
                ways.add("format")
    return sorted(ways)


class _Writer:
    def __init__(self, rules: Rules, tokens: Mapping[str, int]) -> None:
        self._rules, self._tokens = rules, tokens
        self._markers = MarkerTokens(tokens)
        self._cuts = _parted({piece for text in self._texts() for piece in self._markers.pieces(text)} - set(tokens))
        self._lines: list[str] = []
        self._names: dict[Node, str] = {}

    def text(self) -> str:
        named = [f"{_rule_name(name)}: {self._symbol(node)}" for name, node in self._rules.rules.items()]
        return "\n".join(["%llguidance {}", f"start: {self._symbol(self._rules.start)}", *named, *self._lines, ""])

    def _texts(self) -> Iterable[str]:
        """Yield the literals in the grammar that are not part of a larger terminal."""
        for node in _all_nodes(self._rules):
            if isinstance(node, Text):
                yield node.text
            elif isinstance(node, RawText):
                yield "".join(self._markers.split_end(node.end)[1])

    def _symbol(self, node: Node) -> str:
        """Return the node as one symbol, with a rule of its own if necessary. Equal nodes share it."""
        if node not in self._names:
            self._names[node] = self._new_symbol(node)
        return self._names[node]

    def _new_symbol(self, node: Node) -> str:
        match node:
            case Rule(name):
                return _rule_name(name)
            case Pattern(pattern):
                return self._terminal(f"/{_of_rust(pattern)}/")
            case Whitespace():
                return r"/[ \t\r\n]*/"
            case QuotedText(quote, least, most):
                mark = literally(quote)
                character = f"([^{mark}\\\\\\x00-\\x1F]|{_ESCAPE % mark})"
                return self._terminal(f"/{character}{_times(least, most)}{mark}/")
            case RawText():
                return self._raw_text(node)
            case FreeText(without, not_first):
                if found := open_text(without, not_first):
                    return self._terminal(f"/{found}/")
                start = f"([^{literally(not_first)}]{_ANY}*)?" if not_first else f"{_ANY}*"
                return self._terminal(f"/{start}/{_but_for(without)}")
            case Members():
                return self._members(node)
            case Text(text):
                parts = self._text_parts(text)
                return parts[0] if len(parts) == 1 else self._rule(" ".join(parts))
        return self._rule(self._expression(node))

    def _expression(self, node: Node) -> str:
        """Return what follows the colon of a node's rule."""
        match node:
            case Row(parts):
                return " ".join(symbol for part in parts for symbol in self._in_row(part))
            case Either(parts):
                return " | ".join(" ".join(self._in_row(part)) for part in parts)
            case Maybe(part):
                return f"{self._symbol(part)}?"
            case Repeated():
                return self._repeated(node)
            case JsonValue(schema, exact):
                held = held_schema(json.loads(schema))
                return f"%json {json.dumps({**held, 'x-guidance': _SPELT if exact else _WHITESPACE_ANYWHERE})}"
        raise TypeError(f"no node of a grammar: {node!r}")

    def _in_row(self, node: Node) -> Sequence[str]:
        return self._text_parts(node.text) if isinstance(node, Text) else (self._symbol(node),)

    def _text_parts(self, text: str) -> list[str]:
        symbols: list[str] = []
        for piece in self._markers.pieces(text):
            if piece in self._tokens:
                symbols.append(f"<[{self._tokens[piece]}]>")
            else:
                symbols += map(_quoted, self._cuts[piece])
        return symbols or ['""']

    def _repeated(self, node: Repeated) -> str:
        part = self._symbol(node.part)
        least, most = max(node.least, 1), node.most
        further = part if node.separator == EMPTY else f"({' '.join(self._in_row(node.separator))} {part})"
        repeated = part if most == 1 else f"{part} {further}{_times(least - 1, None if most is None else most - 1)}"
        return repeated if node.least else f"({repeated})?"

    def _raw_text(self, node: RawText) -> str:
        """Return one terminal for the text and the textual part of the end marker."""
        last, after = self._markers.split_end(node.end)
        symbol = self._raw_symbol(node, last, [*node.never, node.end.strip() if after else node.end])
        return self._rule(" ".join([symbol, *self._text_parts("".join(after))])) if after else symbol

    def _raw_symbol(self, node: RawText, last: str, never: Sequence[str]) -> str:
        """Return the terminal of the text and its end.

        If the end cannot occur in the text, the terminal must stop at its first match. An expression without a
        complement shows that. Any other is marked as `lazy`, because llguidance panics if it has to find that out
        before a token.
        """
        over = bool(last) and any(mark and mark in last for mark in never)
        unbounded = (node.least, node.most) == (0, None)
        if over and unbounded and (closed := closed_text(last, never)):
            return self._terminal(f"/{closed}/")
        text = open_text(never) if unbounded else None
        terminal = self._terminal(f"/{text or _ANY + _times(node.least, node.most)}/{'' if text else _but_for(never)}")
        if last:
            terminal = self._terminal(f"{terminal} {_quoted(last)}")
        return self._rule(terminal, "[lazy]") if over else terminal

    def _members(self, node: Members) -> str:
        """Return a rule for what may follow, with a bit for each member already written, per group of members.

        The condition is checked where a member is written. llguidance treats a rule that consists only of another rule
        as empty if that one can be empty, whatever its condition is.
        """
        if not node.items:
            return '""'
        separator = "" if node.separator == EMPTY else " ".join(self._in_row(node.separator)) + " "
        groups = [
            sorted(node.items[at : at + MOST_IN_ANY_ORDER], key=lambda member: not member.required)
            for at in range(0, len(node.items), MOST_IN_ANY_ORDER)
        ]
        written = [[self._symbol(member.node) for member in group] for group in groups]
        required = [sum(member.required for member in group) for group in groups]
        name = self._rule("")
        begins = self._going_on(name, written, required, -1, "")
        self._lines[self._lines.index(f"{name}: ")] = f"{name}: " + "\n  | ".join(begins)
        for number, group in enumerate(written):
            again = [
                f"{separator}{member} {name}_{number}::set_bit({bit}) %if bit_clear({bit})"
                for bit, member in enumerate(group)
            ]
            options = self._going_on(name, written, required, number, separator)
            self._lines.append(f"{name}_{number}::_ : " + "\n  | ".join([*options, *again]))
        return name

    @staticmethod
    def _going_on(
        name: str, written: Sequence[Sequence[str]], required: Sequence[int], number: int, separator: str
    ) -> list[str]:
        """Return how the object continues with a later group, or ends, once the required members are written."""
        met = f" %if is_ones([0:{required[number]}])" if number >= 0 and required[number] else ""
        options: list[str] = []
        for later in range(number + 1, len(written)):
            options += [
                f"{separator}{member} {name}_{later}::{1 << bit:#x}{met}" for bit, member in enumerate(written[later])
            ]
            if required[later]:
                return options
        return [f'""{met}', *options]

    def _rule(self, expression: str, how: str = "") -> str:
        name = f"r{len(self._lines)}"
        self._lines.append(f"{name}{how}: {expression}")
        return name

    def _terminal(self, expression: str) -> str:
        name = f"T{len(self._lines)}"
        self._lines.append(f"{name}: {expression}")
        return name


def _all_nodes(rules: Rules) -> Iterable[Node]:
    """Yield every node of a grammar once."""
    seen: dict[Node, None] = {}
    waiting = [rules.start, *rules.rules.values()]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen[node] = None
            waiting += inner_nodes(node)
    return seen


def _parted(texts: set[str]) -> dict[str, list[str]]:
    """Return the texts, each split into pieces of which none is the beginning of another."""
    cuts: dict[str, int] = {}
    waiting = texts
    pieces: set[str] = set()
    while waiting:
        pieces |= waiting
        waiting = set()
        shortest = None
        for text in sorted(pieces):
            if shortest is not None and text.startswith(shortest):
                cuts[text] = len(shortest)
                waiting.add(text[len(shortest) :])
                pieces.discard(text)
            else:
                shortest = text
        waiting -= pieces
    parted: dict[str, list[str]] = {}
    for text in texts:
        parted[text], rest = [], text
        while rest in cuts:
            parted[text].append(rest[: cuts[rest]])
            rest = rest[cuts[rest] :]
        parted[text].append(rest)
    return parted


def _mappings(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _mappings(inner)


def _times(least: int, most: int | None) -> str:
    return "*" if (least, most) == (0, None) else f"{{{least},{'' if most is None else most}}}"


def _but_for(texts: Iterable[str]) -> str:
    """Return the expression that removes all matches containing one of the texts from a terminal."""
    alternatives = "|".join(dict.fromkeys(literally(text) for text in texts if text))
    return f" & ~/{_ANY}*({alternatives}){_ANY}*/" if alternatives else ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _of_rust(pattern: str) -> str:
    """Return a node's pattern between two slashes."""

    def written(found: re.Match[str]) -> str:
        matched = found.group()
        if matched[0] == "\\":
            return matched[1] if matched[1] in "<>" else matched
        return "\\/" if matched == "/" else f"\\x{ord(matched):02X}"

    return re.sub(r"(?s)\\.|/|[\x00-\x1f]", written, pattern)


def _rule_name(name: str) -> str:
    return "named-" + re.sub(r"[^a-z0-9_]", lambda found: f"-{ord(found.group()):x}-", name)
