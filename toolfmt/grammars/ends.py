"""Handle outputs whose last marker is the model's end-of-turn token, at which a runtime stops.

An engine that treats such a token as the end allows it only where the grammar ends, and never as text. So the marker
may be missing there.
"""

from __future__ import annotations

from toolfmt.formats.values.nodes import EMPTY, Either, Maybe, Node, Repeated, Row, Text, either, maybe, row

_ENDS = (
    "<|call|>", "<|return|>", "<|end|>", "<|eot_id|>", "<|im_end|>", "<|eom_id|>", "<|flush|>", "<|calls|>",
    "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<end_of_utterance>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]",
    "</s>", "<eos>", "<turn|>", "<|tool_response>",
)  # fmt: skip
"""Strings that llama.cpp treats as the end of a response because of their text (`src/llama-vocab.cpp`, November 2026).

XGrammar gets them from the model's configuration, which names the same.
"""


def may_end_early(node: Node) -> Node:
    """Return the node, which ends an output, with its last marker optional if that ends a turn."""
    for end in _ENDS:
        if (shorter := _without(node, end)) is not None:
            return row(shorter, maybe(Text(end)))
    match node:
        case Row(parts) if parts:
            return row(*parts[:-1], may_end_early(parts[-1]))
        case Either(parts):
            return either(*map(may_end_early, parts))
        case Maybe(part):
            return maybe(may_end_early(part))
    return node


def _without(node: Node, end: str) -> Node | None:
    """Return the node without the text that it ends with. None if it may end differently."""
    match node:
        case Text(text):
            return Text(text.removesuffix(end)) if text.endswith(end) else None
        case Row((*before, Maybe(more_))):
            first, last = _without(row(*before), end), _without(more_, end)
            return None if first is None or last is None else row(first, maybe(row(end, last)))
        case Row(parts) if parts:
            last = _without(parts[-1], end)
            return None if last is None else row(*parts[:-1], last)
        case Either(parts):
            shorter = [_without(part, end) for part in parts]
            found = [part for part in shorter if part is not None]
            return either(*found) if len(found) == len(parts) else None
        case Repeated(part, separator, least, most):
            first = _without(part, end)
            if first is None or most == 1:
                return first
            more = Repeated(row(end, separator, first), EMPTY, max(least - 1, 1), None if most is None else most - 1)
            return row(first, more if least > 1 else maybe(more))
    return None
