"""Which conditions of a template depend on message text, and how many of them were tested both ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolfmt.inspect.sections.branches.conversations import holds_sent_word, is_sent_word
from toolfmt.templates.analysis.conditions import Condition
from toolfmt.templates.engine.branch_coverage import BranchCoverage

_CONTENT = frozenset({"content", "text"})
# Kinds of parts, values and messages: templates test for these keys as if they searched for a text.
KINDS = frozenset(
    {
        *("text", "image", "image_url", "video", "video_url", "audio", "audio_url", "input_audio", "document", "file"),
        *("type", "name", "role", "content", "required", "properties", "description", "nullable", "enum", "items"),
        *("object", "array", "string", "number", "integer", "boolean", "null", "mapping"),
        *("user", "assistant", "system", "tool", "developer", "function", "arguments", "parameters", "tools"),
        *("tool_calls", "tool_call", "tool_response", "response"),
    }
)


def on_message_text(condition: Condition, coverage: BranchCoverage) -> bool:
    """Return whether a condition compares message text: it reads `content`, or an operand came from a probe's word."""
    if condition.about in ("text", "number", "sum") and condition.names & _CONTENT:
        return True
    return bool(computed_of_messages(condition, coverage)) and bool(sought_texts(condition, coverage))


def sought_texts(condition: Condition, coverage: BranchCoverage) -> tuple[str, ...]:
    """Return the strings that a condition tests for: values of operands, and constants not contained in them.

    Operands computed from a message are left out.
    """
    computed = [text for texts in _operands(condition, coverage, of_messages=False) for text in texts]
    constants = [text for text in condition.texts if not any(text in one for one in computed)]
    return tuple(dict.fromkeys([*computed, *constants]))


def computed_of_messages(condition: Condition, coverage: BranchCoverage) -> tuple[str, ...]:
    """Return the strings that a condition computed from a message before it compared them."""
    return tuple(text for texts in _operands(condition, coverage, of_messages=True) for text in texts)


def _operands(condition: Condition, coverage: BranchCoverage, *, of_messages: bool) -> Iterator[Iterable[str]]:
    """Yield the values of each computed operand. One value suffices to show that it comes from messages."""
    for texts in coverage.compared.get(condition.number, {}).values():
        # A constant has one value, which may happen to be a part of a word that was sent.
        sent = (len(texts) > 1 and any(map(holds_sent_word, texts))) or any(map(is_sent_word, texts))
        if sent == of_messages:
            yield texts


def untested(coverage: BranchCoverage) -> tuple[list[Condition], int]:
    """Return the conditions on message text with only one outcome, and the number of all such conditions."""
    found = [one for one in coverage.conditions if on_message_text(one, coverage)]
    unmet = [one for one in found if len(coverage.met(one)) < 2]
    of_kinds = [one for one in unmet if one.about == "text" and set(sought_texts(one, coverage)) <= KINDS]
    return [one for one in unmet if one not in of_kinds], len(found) - len(of_kinds)
