"""Read back: a format's parser has to return the calls that the template rendered.

`try_calls` tries one format on one set of calls, `trials` on all sets. `decision.py` tries every format of the
registry in the same way, so no format is named here. A format's own markers are detected from what its writer puts
around values.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolfmt._util.text_lists import listed
from toolfmt.errors import CannotWrite, TemplateError
from toolfmt.formats import Parser, ToolCallFormat, write
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.formats.tolerances import OF_THE_FORMAT
from toolfmt.inspect.probe.conversations import (
    ALL_TOOLS,
    BARE_TOOL,
    EVERY_TYPE,
    PARALLEL,
    PARAMETER,
    SINGLE,
    TOOL,
    TOOLS,
    TYPED_TOOL,
    Call,
    Message,
    call_id,
)
from toolfmt.inspect.probe.renders import Region, Renders
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import shortened
from toolfmt.messages.events import (
    Content,
    Event,
    Reasoning,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
)

Kind: TypeAlias = Literal[
    "one string argument", "two calls", "typed values", "null", "no arguments", "special characters"
]

SINGLE_CALL: Kind = "one string argument"
TYPED_CALL: Kind = "typed values"
SPECIAL: Kind = "special characters"

SPECIAL_STRINGS = (
    "a \"double\" and a 'single' quote, it's",
    "two\nlines",
    '}} {"a": [1]} ]) >',
    "C:\\new\\table\\",
    "  spaces at both ends ",
    "\nnewlines at both ends\n",
    "a\\nb",
    "null",
    "nan",
    "123",
    "[1]",
    '{"a": 1}',
    "true",
    "",
    "<b>&amp;</b>",
    "Osnabrück 東京",
)
"""Strings that have to be quoted, and strings that look like other values."""

_LONGEST_QUOTE = 60


@dataclass(frozen=True)
class RoundTrip:
    """The result of one set of calls: read back exactly, read as something else, or rejected by the template.

    `detail` is what went wrong, `beyond` what the format itself cannot represent.
    """

    kind: Kind
    outcome: Literal["exact", "inexact", "rejected"]
    detail: str = ""
    tolerated: tuple[str, ...] = ()
    line: int | None = None
    beyond: str = ""

    @property
    def exact(self) -> bool:
        return self.outcome == "exact"


@dataclass(frozen=True)
class Reading:
    """What a format's parser returns for a string: calls, the text before, between and after them, and reasoning."""

    calls: tuple[tuple[str, Any], ...]
    leading: str
    between: str
    trailing: str
    tolerated: tuple[str, ...]
    rejected: tuple[str, ...]
    reasoning: str


def read(format: ToolCallFormat, region: Region, tools: Sequence[Message]) -> Reading:
    """Return the calls that the format's parser finds in the region."""
    parser = Parser(format, tools=tools, prefix=opened(format, region.before), tolerate=OF_THE_FORMAT)
    return reading_of([*parser.feed(region.text), *parser.finish()])


def reading_of(events: Sequence[Event]) -> Reading:
    """Combine the events of a parser."""
    names: list[str] = []
    arguments: list[str] = []
    contents, reasoning = [""], ""
    tolerated: dict[str, None] = {}
    rejected: list[str] = []
    for event in events:
        if isinstance(event, ToolCallStart):
            names.append(event.name)
            arguments.append("")
            contents.append("")
        elif isinstance(event, ToolCallArguments):
            arguments[-1] += event.delta
        elif isinstance(event, ToolCallEnd):
            tolerated |= dict.fromkeys(event.tolerated)
        elif isinstance(event, ToolCallRejected):
            rejected.append(event.reason)
        elif isinstance(event, Reasoning):
            reasoning += event.text
        elif isinstance(event, Content):
            contents[-1] += event.text
    calls = () if rejected else tuple((name, json.loads(text)) for name, text in zip(names, arguments, strict=True))
    leading, *between = contents
    trailing = between.pop() if between else ""
    return Reading(calls, leading, "".join(between), trailing, tuple(tolerated), tuple(rejected), reasoning)


def try_calls(
    renders: Renders, format: ToolCallFormat, shape: TurnShape, kind: Kind, calls: Sequence[Call], signed: bool
) -> RoundTrip:
    """Render the calls and read them back. `signed`: the template's source contains the format's signature."""
    region, tools = render_calls(renders, shape, calls)
    if isinstance(region, TemplateError):
        return RoundTrip(kind, "rejected", thrown(region).sentence, line=region.line)
    reading = read(format, region, tools)
    expected = [(name, dict(arguments)) for name, arguments in calls]
    wrong = _difference(expected, reading)
    if not wrong and not signed and not _framed(format, region):
        wrong = "the calls lack the format's frame"
    return RoundTrip(kind, "inexact" if wrong else "exact", wrong, reading.tolerated)


def render_calls(
    renders: Renders, shape: TurnShape, calls: Sequence[Call]
) -> tuple[Region | TemplateError, Sequence[Message]]:
    """Return the region of these calls and the tools used: all, or only the first if the template raises."""
    region = renders.calls(shape, calls, ALL_TOOLS)
    if isinstance(region, TemplateError) and all(name == TOOL for name, _ in calls):
        return renders.calls(shape, calls, TOOLS), TOOLS
    return region, ALL_TOOLS


def call_sets(*, parallel: bool) -> list[tuple[Kind, tuple[Call, ...]]]:
    """Return the calls to try, without the special characters; two calls only if `parallel`."""
    two: list[tuple[Kind, tuple[Call, ...]]] = [("two calls", PARALLEL)] if parallel else []
    return [
        (SINGLE_CALL, SINGLE),
        *two,
        (TYPED_CALL, EVERY_TYPE),
        ("null", ((TYPED_TOOL, {"text": "plain", "limit": None}),)),
        ("no arguments", ((BARE_TOOL, {}),)),
    ]


def trials(
    renders: Renders, format: ToolCallFormat, shape: TurnShape, *, parallel: bool, signed: bool
) -> list[RoundTrip]:
    """Return the results of all sets of calls in the format."""
    made = [try_calls(renders, format, shape, kind, calls, signed) for kind, calls in call_sets(parallel=parallel)]
    return [*made, _try_special(renders, format, shape, signed)]


def _try_special(renders: Renders, format: ToolCallFormat, shape: TurnShape, signed: bool) -> RoundTrip:
    """Try one call for each of these strings. Those that the format's own writer rejects are listed separately."""
    failed: list[str] = []
    impossible: list[str] = []
    tolerated: dict[str, None] = {}
    for value in (*SPECIAL_STRINGS, *own_markers(format)):
        trial = try_calls(renders, format, shape, SPECIAL, ((TOOL, {PARAMETER: value}),), signed)
        tolerated |= dict.fromkeys(trial.tolerated)
        if not trial.exact:
            (failed if can_carry(format, value) else impossible).append(_quote(value))
    beyond = f"{format.name} cannot represent the test values {', '.join(impossible)}" if impossible else ""
    return RoundTrip(SPECIAL, "inexact" if failed else "exact", ", ".join(failed), tuple(tolerated), beyond=beyond)


def rendered_variant(renders: Renders, format: ToolCallFormat, shape: TurnShape, *, parallel: bool) -> str | None:
    """Return the variant of the format that the template renders calls in, byte for byte.

    Empty if it is the engine's default, None if no variant matches.
    """
    calls = PARALLEL if parallel else SINGLE
    region, tools = render_calls(renders, shape, calls)
    if isinstance(region, TemplateError):
        return None
    rendered = region.before[-40:] + region.text
    for number, (name, _) in enumerate(calls):  # the template prints the ids it receives, the writer its own
        own, given = format.call_id.format(name=name, number=number), call_id(shape, name, number)
        rendered = rendered.replace(given, own) if given else rendered
    for variant in ("", *format.variants):
        if write(format.with_variant(variant), calls, tools).strip() in rendered:
            return variant
    return None


def own_markers(format: ToolCallFormat) -> tuple[str, ...]:
    """Return strings that contain the format's own markers, as its writer puts them around two arguments."""
    try:
        text = write(format, [("NAME", {"KEYA": "VALUEA", "KEYB": "VALUEB"})])
    except CannotWrite:
        return ()
    for sentinel in ("NAME", "KEYA", "KEYB", "VALUEA", "VALUEB"):
        text = text.replace(sentinel, "\0")
    pieces = [piece for piece in text.split("\0") if piece.strip()]
    return tuple(dict.fromkeys(f"x{piece}y" for piece in pieces))


def can_carry(format: ToolCallFormat, value: str) -> bool:
    """Return whether the format can represent this string."""
    try:
        write(format, [(TOOL, {PARAMETER: value})], TOOLS)
    except CannotWrite:
        return False
    return True


def _framed(format: ToolCallFormat, region: Region) -> bool:
    """Return whether a frame of the format is present; always true for a format that writes calls without one."""
    text, marks = region.before[-40:] + region.text, (*format.openers, *format.engine.start_only_openers)
    if not marks or any(mark in text for mark in marks):
        return True
    return not write(format, [(TOOL, {})]).lstrip().startswith(marks)


def may_start(format: ToolCallFormat, region: Region) -> bool:
    """Return whether the region contains anything that a call of the format starts with.

    If not, the format's parser finds no call in it, or rejects one in the syntax of another format.
    """
    if format.name_at_start != "never" or format.engine.named:
        return True
    text = opened(format, region.before) + region.text
    return any(start in text for start in format.markers.calls)


def opened(format: ToolCallFormat, before: str) -> str:
    """Return what the prompt has opened before the calls: a reasoning block from its start marker on, or a call."""
    for opener, closer in format.reasoning_read:
        begin = before.rfind(opener)
        if begin >= 0 and closer not in before[begin:]:
            return before[begin:]
    marks = (*format.openers, *format.engine.start_only_openers)
    return max((mark for mark in marks if before.endswith(mark)), key=len, default="")


def _difference(expected: list[tuple[str, Any]], reading: Reading) -> str:
    """Return what changed, or an empty string. Text after the last call is the frame of the next turn."""
    if reading.rejected:
        return f"rejected as {reading.rejected[0]}"
    if len(reading.calls) != len(expected):
        return f"{len(reading.calls)} calls read instead of {len(expected)}"
    for (name, arguments), (read_name, read_arguments) in zip(expected, reading.calls, strict=True):
        if name != read_name:
            return f"the name comes back as {_quote(read_name)}"
        if _exact(arguments) != _exact(read_arguments):
            return _differing_arguments(arguments, read_arguments)
    leftover = (answer_prefix(reading.leading) + reading.between).strip()
    return f"{_quote(leftover)} is left over next to the calls" if leftover else ""


def _differing_arguments(arguments: dict[str, Any], came: dict[str, Any]) -> str:
    lost = [key for key in arguments if key not in came]
    if lost:
        return f"{_named(lost)} missing"
    changed = [key for key, value in arguments.items() if _exact(value) != _exact(came[key])]
    if changed:
        return ", ".join(
            f"the argument `{key}` comes back as {_quote(came[key])} instead of {_quote(arguments[key])}"
            for key in changed
        )
    return f"{_named(sorted(set(came) - set(arguments)))} added"


def _named(keys: Sequence[str]) -> str:
    """Return the names of arguments with the verb."""
    names = listed([f"`{key}`" for key in keys])
    return f"the argument {names} is" if len(keys) == 1 else f"the arguments {names} are"


def _exact(value: Any) -> str:
    """Return JSON text, which distinguishes 1 from true and 1.0; Python's equality does not."""
    return json.dumps(value, sort_keys=True)


def _quote(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), _LONGEST_QUOTE)
