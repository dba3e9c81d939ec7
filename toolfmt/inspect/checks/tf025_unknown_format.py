"""No known format parses the calls that the template renders, or nothing shows the format.

What it checks: the calls that the template renders, against all known formats.

- `no-known-format`: none of the known formats parses the rendered calls, and none was derived from them. Or the
  template describes tools but never renders a call, and neither its text nor the model's files name a known format. If
  the call is similar to that of a known format, the finding names the format and the difference. Examples are a
  misspelled marker, a lost brace, or a template that was escaped for HTML. If none is similar and the files do not
  declare a known parser, toolfmt tries to derive a format. The finding states why that failed.
- `format-derived`: a format was derived from what the template renders. Calls that differ in one detail at a time show
  the text around names, keys and values. The resulting parser read back other calls and whole responses. This verifies
  what the template writes into the history; only an output of the model shows what the model writes.

Why it matters: a parser that was guessed returns raw markup or nothing.

Affected runtimes: every runtime that parses the calls of this model.

Example:

    <|call|>{{ call.function.name }}<|with|>{{ call.function.arguments.city }}<|end|>

Fix: if the calls are similar to those of a known format, correct the template. If not, set the parser named in the
model card. If the card does not name one, write a format file (docs/own_formats.md). If the template renders calls,
start from the format that the finding names, and adapt it to the quoted call. `toolfmt dev derive` writes such a file
if the calls allow it; check one output of the model before you rely on it. Or describe the tools in the system prompt
(`toolfmt render MODEL --strategy prompt`): the model then writes calls in a format that toolfmt parses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from toolfmt._util.shell import argument
from toolfmt.formats import write
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.format.nearest_format import nearest_sibling
from toolfmt.inspect.probe.conversations import ALL_TOOLS, SINGLE, TOOLS, conversation
from toolfmt.inspect.probe.renders import Region
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.runtimes.parser_line import has_place

ABOUT_PARSING = True
OUTCOMES = {
    "no-known-format": FindingOutcome("error", replaces="TF025 unknown-format", summary="unknown format"),
    "format-derived": FindingOutcome("note", replaces="TF092 format-derived"),
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _unknown(facts)
    yield from _derived(facts)


_PARSER = "Set the parser named in the model card."
_DERIVE = "Or run `toolfmt dev derive MODEL`: it writes a format file if the calls allow it."
_LONGEST_CALL = 200


def _unknown(facts: Facts) -> Iterator[Diagnostic]:
    decided = facts.decided
    if decided.rendered and decided.read_back is None:
        found = _unread(facts)
        # If tools are described in the system prompt, past calls are too: the model does not see these.
        yield found if facts.shows_tools else replace(found, severity="note")
    elif facts.shows_tools and not decided.rendered and decided.decision.confidence in ("default", "none"):
        yield Diagnostic(
            "The template describes tools but renders no calls, and neither its words nor the model's files name a "
            "format that toolfmt knows.",
            _without_parser(
                facts, "Or write a format file (docs/own_formats.md) for the calls that the template describes."
            ),
            facts.capabilities["tools"].line,
            outcome="no-known-format",
        )


def _unread(facts: Facts) -> Diagnostic:
    """Return the finding for a call that no format reads, with its first difference from a similar known format."""
    line = facts.capabilities["tool_calls"].line
    message = f"No known format parses the calls that the template renders: {quote(facts.decided.rendered)}"
    other = facts.decided.unclaimed
    why = "" if other is None else other.why_not
    near = None if other is None or (why and other.near is not None and not other.near.slight) else other.near
    if facts.renders is None or facts.probed is None or (shape := facts.probed.shape) is None:
        return Diagnostic(
            message,
            _without_parser(facts),
            line,
            outcome="no-known-format",
        )
    region = facts.renders.calls(shape, SINGLE, TOOLS)
    if not isinstance(region, Region) or near is None:
        text = region.text if isinstance(region, Region) else None
        message += f". None can be derived from them: {why}" if why else ""
        return Diagnostic(
            message,
            _without_parser(facts, _DERIVE if not why else "", _format_file(text)),
            line,
            outcome="no-known-format",
        )
    tools = TOOLS if shape.tools else None
    offset = len(region.before) + near.offset
    return Diagnostic(
        f"{message}. It is what {near.format.name} writes, {near.differs}.",
        f"Correct the template there if the model writes {near.format.name}. "
        "Otherwise set the parser named in the model card.",
        facts.renders.line_at(conversation(shape, SINGLE), tools, offset) or line,
        outcome="no-known-format",
    )


def _format_file(call: str | None) -> str:
    """Return the step that writes a format file for this call, with the closest known format."""
    near = nearest_sibling(call, SINGLE, ALL_TOOLS)
    written = quote(write(near, SINGLE, ALL_TOOLS), _LONGEST_CALL)
    return (
        f"Or write a format file (docs/own_formats.md). The closest known format is {near.name}; "
        f"it would write the same call as {written}."
    )


def _without_parser(facts: Facts, *steps: str) -> str:
    """Return what to do about a format that no known parser reads. Empty steps are left out."""
    system_prompt_step = "Or describe the tools in the system prompt: `toolfmt render MODEL --strategy prompt`."
    return " ".join(filter(None, (_PARSER, *steps, system_prompt_step if facts.takes_prose else "")))


def _command(facts: Facts) -> str:
    place = f" {argument(str(facts.files.directory))}" if has_place(facts) else ""
    return f"toolfmt dev derive{place}"


def _derived(facts: Facts) -> Iterator[Diagnostic]:
    derived = facts.decided.decision.derived
    if derived is None:
        return
    limits = "".join(f"; {limit}" for limit in derived.limits)
    yield Diagnostic(
        f"No known format parses the calls that the template renders; one was derived from them ({derived.kind}) and "
        f"{derived.proof}{limits}.",
        f"`{_command(facts)}` prints it as a file. Check one output of the model before you rely on it: the format "
        "is read from the template's history, not from a model's output.",
        facts.capabilities["tool_calls"].line,
        outcome="format-derived",
    )
