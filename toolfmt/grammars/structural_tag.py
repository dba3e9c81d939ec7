"""Export a grammar as a structural tag of XGrammar: free text, and a grammar only for the calls in it.

vLLM and SGLang compile structural tags over all tokens, so that markers may be special tokens. Text outside of calls is
`any_text`. The calls are one `grammar` in XGrammar's EBNF.

Source: XGrammar 0.2.8, `python/xgrammar/structural_tag.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from toolfmt.formats.grammar.answer_grammar import AnswerGrammar
from toolfmt.formats.values.nodes import (
    EMPTY,
    Either,
    Maybe,
    Node,
    Pattern,
    RawText,
    Row,
    Rules,
    Text,
    inner_nodes,
)
from toolfmt.grammars.exported import Exported
from toolfmt.grammars.gbnf import XGRAMMAR_TEXT_STATES, gbnf
from toolfmt.grammars.marker_tokens import MarkerTokens

Format: TypeAlias = dict[str, Any]
"""A format of a structural tag, as JSON."""


def structural_tag(answer: AnswerGrammar, tokens: Mapping[str, int]) -> Exported:
    """Return the structural tag as JSON text.

    Args:
        answer: The grammar of an output.
        tokens: The markers that are one token of the tokenizer, with their ids.

    Raises:
        NotConstrained: A schema in it has no grammar.
        CannotConstrain: The length of a text cannot be expressed.
    """
    markers = MarkerTokens(tokens)
    by_trigger = answer.text is None or (answer.trigger and not _overlaps_itself(answer.trigger))
    if not by_trigger or any(_is_several_parts(mark, markers, tokens) for mark in _excluded(answer)):
        # XGrammar 0.2.8 also rejects valid outputs if text that begins differently from calls follows tokens.
        whole = gbnf(answer.rules, tokens if by_trigger else {}, most_states=XGRAMMAR_TEXT_STATES)
        return Exported(_tag({"type": "grammar", "grammar": whole.text}), whole.narrower)
    calls = gbnf(answer.calls, tokens, most_states=XGRAMMAR_TEXT_STATES)
    called: Format = {"type": "grammar", "grammar": calls.text}
    parts = [] if answer.reasoning == EMPTY else [_format(answer.reasoning, markers, tokens)]
    if answer.text is None:
        parts.append(called)
    else:
        parts += [_any_text(answer.text.without), {"type": "optional", "content": called}]
    return Exported(_tag(_sequence(parts)), calls.narrower)


def _tag(format: Format) -> str:
    return json.dumps({"type": "structural_tag", "format": format}, ensure_ascii=False)


def _excluded(answer: AnswerGrammar) -> Iterator[str]:
    """Yield the texts that must not occur outside of calls."""
    waiting = [answer.reasoning]
    while waiting:
        node = waiting.pop()
        waiting += inner_nodes(node)
        if isinstance(node, RawText):
            yield from (node.end, *node.never)
    if answer.text is not None:
        yield from answer.text.without


def _is_several_parts(mark: str, markers: MarkerTokens, tokens: Mapping[str, int]) -> bool:
    """Whether a marker consists of a token and more.

    XGrammar 0.2.8 rejects valid outputs if a text must not contain such a marker, and the marker follows as tokens.
    """
    pieces = markers.pieces(mark)
    return len(pieces) > 1 and any(piece in tokens for piece in pieces)


def _format(node: Node, markers: MarkerTokens, tokens: Mapping[str, int]) -> Format:
    """Return a part of an output outside of calls."""

    def constant(text: str) -> list[Format]:
        return [
            {"type": "token", "token": tokens[piece]} if piece in tokens else {"type": "const_string", "value": piece}
            for piece in markers.pieces(text)
        ]

    match node:
        case Text(text):
            return _sequence(constant(text))
        case Row(parts):
            return _sequence([_format(part, markers, tokens) for part in parts])
        case Either(parts):
            return {"type": "or", "elements": [_format(part, markers, tokens) for part in parts]}
        case Maybe(part):
            return {"type": "optional", "content": _format(part, markers, tokens)}
        case Pattern(pattern):
            return {"type": "regex", "pattern": pattern}
        case RawText(end, never, 0, None) if not _overlaps_itself(end):
            return _sequence([_any_text((end, *never)), *constant(end)])
    return _grammar(Rules(node), tokens)


def _grammar(rules: Rules, tokens: Mapping[str, int]) -> Format:
    return {"type": "grammar", "grammar": gbnf(rules, tokens).text}


def _overlaps_itself(end: str) -> bool:
    """Whether a suffix of the marker is also a prefix of it, so that the marker may appear earlier than intended."""
    return any(end.startswith(end[at:]) for at in range(1, len(end)))


def _any_text(without: tuple[str, ...]) -> Format:
    return {"type": "any_text", "excludes": list(without)}


def _sequence(elements: list[Format]) -> Format:
    return elements[0] if len(elements) == 1 else {"type": "sequence", "elements": elements}
