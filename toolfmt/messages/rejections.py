"""The sentences about rejected calls: what was expected, and the message that a runtime can send back to the model.

All texts have a bounded length, whatever a model wrote. Control characters are escaped as in Python's `repr`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice
from typing import NamedTuple

from toolfmt.messages.events import RejectionReason, ToolCallRejected

MAX_EXPECTED = 200
"""Maximum number of characters of `expected`."""
_MAX_SHOWN = 40
"""Maximum number of characters of a name, a key or a marker in a message."""
_MAX_FOUND = 20
_MAX_TOOLS = 10
_MAX_LITERALS = 4


def shown(text: str, quote: str = "'", limit: int = _MAX_SHOWN) -> str:
    """Return text in quotes, with escapes for what is not printable, cut to `limit` characters with the escapes."""
    return quote + printable(text, limit, special=("\\", quote)) + quote


def printable(text: str, limit: int, *, special: Collection[str] = ()) -> str:
    """Return text with escapes for what is not printable or `special`, cut to `limit` characters with the escapes."""
    plain = ""
    for c in text:
        piece = ("\\" if c in special else "") + c if c.isprintable() else ascii(c)[1:-1]
        if len(plain) + len(piece) > limit:
            return plain + "…"
        plain += piece
    return plain


def named(text: str) -> str:
    """Return a name or a key in double quotes, like `shown`."""
    return shown(text, '"')


def one_of(literals: Iterable[str]) -> str:
    """Return a phrase for a choice between literals: `'}' or ','`.

    Of those that differ in whitespace, it has the first. If there are more than four, the phrase says so.
    """
    distinct: dict[str, str] = {}
    for literal in literals:
        distinct.setdefault("".join(literal.split()), shown(literal))
        if len(distinct) > _MAX_LITERALS:
            break
    phrases = list(dict.fromkeys(distinct.values()))
    phrases[_MAX_LITERALS:] = ["another one"] * (len(phrases) > _MAX_LITERALS)
    return " or ".join([", ".join(phrases[:-1]), phrases[-1]]) if len(phrases) > 1 else "".join(phrases)


def end_marker(*markers: str) -> str:
    """Return a phrase for the first of these end markers that is not empty."""
    marker = next((marker.strip() for marker in markers if marker.strip()), "")
    return f"the end marker {shown(marker, '')}" if marker else "the end of the call"


def rejection_message(
    reason: RejectionReason,
    raw: str = "",
    at: int = 0,
    expected: str = "",
    *,
    problem: str = "",
    name: str = "",
    declared: Collection[str] | None = None,
) -> str:
    """Return one sentence about a rejected call for the model that wrote it.

    Args:
        reason: Why the call is rejected.
        raw: The text of the call.
        at: Where parsing stopped, as an offset in `raw`.
        expected: What would have been valid there. If it is empty, the sentence has no position.
        problem: What is wrong, if it is more specific than the reason. The sentence then does not quote the text at
            `at`, because the problem may be just before it. For an undeclared tool, the tolerance that would repair its
            name.
        name: The tool that is called, empty if it is not known.
        declared: The names of the declared tools, to list them if the called tool is undeclared.
    """
    call = f"Call to {shown(name, '')}" if name else "Tool call"
    if reason == "undeclared_tool":
        unknown = f"there is no tool named {named(name)}" if name else "the tool is not declared"
        unknown += f" ({problem})" if problem else ""
        return f"Tool call rejected: {unknown}{'' if declared is None else _tools(declared)}."
    found = f", but found {shown(raw[at:], limit=_MAX_FOUND)}" if at < len(raw) and not problem else ""
    problem = problem or _PROBLEMS[reason]
    if not expected:
        return f"{call} rejected: {problem or 'it is malformed'}."
    return f"{call} rejected: {problem and problem + '; '}expected {expected}{found} (character {at} of the call)."


class Refusal(NamedTuple):
    """Why a call is rejected."""

    reason: RejectionReason
    at: int
    """The offset of the first character that cannot continue the call."""
    expected: str
    """A phrase for what would have been valid there."""
    problem: str = ""
    """What is wrong, if it is more specific than the reason."""

    def event(
        self, index: int, span: tuple[int, int], raw: str, *, name: str, declared: Collection[str]
    ) -> ToolCallRejected:
        """Return the event of a call with this index, range, text and name. `declared` are the names of the tools."""
        reason, at, expected, problem = self
        at = min(max(at, span[0]), span[1])
        message = rejection_message(reason, raw, at - span[0], expected, problem=problem, name=name, declared=declared)
        return ToolCallRejected(index, reason, span, raw, at, expected, message)


_PROBLEMS: dict[RejectionReason, str] = {
    "malformed_syntax": "",
    "incomplete_output": "the output ended before the call was complete",
    "missing_tool_name": "it has no tool name",
    "invalid_arguments": "the arguments are invalid",
    "duplicate_call": "it repeats an earlier one",
}


def _tools(declared: Collection[str]) -> str:
    if not declared:
        return "; no tools are available"
    names = ", ".join(shown(name, "") for name in islice(declared, _MAX_TOOLS))
    more = len(declared) - _MAX_TOOLS
    return f"; available tools: {names}" + (f" and {more} more" if more > 0 else "")
