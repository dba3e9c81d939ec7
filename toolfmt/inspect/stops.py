"""Determine where a model's output ends: after a text response, and after calls, before the results.

From the template's renders and the model's files. A model writes what followed calls in its training data. Without a
stop, it continues with an invented result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from toolfmt.errors import TemplateError
from toolfmt.formats import Parser, ToolCallFormat
from toolfmt.formats.tolerances import OF_THE_FORMAT
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.format.read_back import opened, read
from toolfmt.inspect.probe.conversations import REPLY, RESULT, SINGLE, TOOLS, USER, reply, user
from toolfmt.inspect.probe.eos_tokens import eos_tokens
from toolfmt.inspect.probe.renders import Region, Renders
from toolfmt.inspect.probe.turn_markers import MARK, first_marker, stop_strings
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.messages.events import ToolCallEnd

_ENDS_WITH = re.compile(rf"(?:{MARK.pattern})\Z")


@dataclass(frozen=True)
class Stops:
    """Everything that ends an output, that of text responses first; `of_calls` are those that only end calls."""

    all: tuple[str, ...] = ()
    of_calls: tuple[str, ...] = ()


def stops(facts: Facts) -> Stops:
    """Return what ends an output, from the template's renders and the model's files.

    Markers inside calls and those that end reasoning are left out, unless the files define them: a runtime that stops
    there truncates the output.
    """
    special_tokens, ends = facts.files.special_tokens, eos_tokens(facts.files, facts.tokenizer)
    if facts.renders is None:
        return Stops(_distinct(special_tokens.get("eos_token", ""), *ends))
    named = {special_tokens.get("eos_token", ""), *ends}
    cuts = cutting(facts) - named
    handed_over = _handed_over(facts)
    after_calls = handed_over if handed_over and handed_over not in cuts else _after_calls(facts)
    after = stop_strings(facts.renders, facts.shape, after_calls, special_tokens)
    in_words = stop_strings(facts.renders, facts.shape, "", special_tokens)
    every = tuple(stop for stop in _distinct(*after, *_ending_calls(facts), *ends) if stop not in cuts)
    turn_end = _after_response(facts.renders, facts.shape)
    of_calls = [stop for stop in every if stop not in {*in_words, *named} and stop not in turn_end]
    return Stops(every, tuple(of_calls))


def _after_response(renders: Renders, shape: TurnShape | None) -> str:
    """Return what the template writes between a response without calls and the next question."""
    messages = [*reply(shape or TurnShape()), *user()]
    return renders.text(messages, TOOLS).rpartition(REPLY)[2].partition(USER)[0]


def _starts_turns(renders: Renders, mark: str) -> bool:
    """Return whether the marker comes before a question and does not end it: it does not end an output by itself."""
    header, _, after = renders.text(user(), TOOLS).partition(USER)
    return mark in header and mark != first_marker(after)


def _distinct(*found: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, found)))


def _handed_over(facts: Facts) -> str:
    """Return the marker between a call and its result; without one, the marker that ends the call."""
    best, shape = facts.decided.read_back, facts.shape
    if best is None or shape is None or facts.renders is None or not facts.yes("tool_results"):
        return ""
    region = _region(facts, replace(shape, follows="result"))
    if region is None or RESULT not in region.text:
        return ""
    text = region.text.partition(RESULT)[0]
    end = _end_of_call(best.format, region, text)
    between = text[end:]
    mark = first_marker(between)
    if not mark and end and not MARK.search(between):
        closed = _ENDS_WITH.search(text[:end].rstrip())
        mark = closed[0] if closed else ""
    invented = set(facts.renders.tokens.values()) - set(facts.files.special_tokens.values())
    return "" if mark in invented or _starts_turns(facts.renders, mark) else mark


def _end_of_call(format: ToolCallFormat, region: Region, text: str) -> int:
    """Return the end of the call in the text; 0 if none is read."""
    parser = Parser(format, tools=TOOLS, prefix=opened(format, region.before), tolerate=OF_THE_FORMAT)
    ends = [event.span[1] for event in (*parser.feed(text), *parser.finish()) if isinstance(event, ToolCallEnd)]
    return ends[-1] if ends else 0


def _after_calls(facts: Facts) -> str:
    """Return what the template writes after the calls of a turn."""
    best, region = facts.decided.read_back, _region(facts, facts.shape)
    return "" if best is None or region is None else read(best.format, region, TOOLS).trailing + region.after


def _ending_calls(facts: Facts) -> Iterator[str]:
    """Yield the control token at the end of a rendered call that the format ignores: models stop there.

    Except the start of a response: some templates write it even if no response is requested.
    """
    best, region = facts.decided.read_back, _region(facts, facts.shape)
    if best is not None and region is not None and facts.renders is not None:
        text = region.text.rstrip()
        prompt = facts.renders.render(user(), TOOLS, generation=True)
        prompt_end = prompt.rstrip() if isinstance(prompt, str) else ""
        marks = (mark for mark in best.format.ignored_markers if mark.strip() and text.endswith(mark))
        yield from (mark for mark in marks if not prompt_end.endswith(mark))


def cutting(facts: Facts) -> set[str]:
    """Return the markers inside a rendered call, and those that end reasoning."""
    best, shape = facts.decided.read_back, facts.shape
    reasoning = {facts.profile.reasoning[1]} if facts.profile.reasoning else set()
    region = None if shape is None else _region(facts, replace(shape, follows="nothing"))
    if best is None or region is None:
        return reasoning
    closers: dict[str, str] = {}
    for opener, closer in best.format.reasoning:
        closers.setdefault(opener, closer)  # later pairs only end a block whose own end marker is missing
    call = region.text[: _end_of_call(best.format, region, region.text)].rstrip()
    inside = _ENDS_WITH.sub("", call)
    return reasoning | set(closers.values()) | set(MARK.findall(inside))


def _region(facts: Facts, shape: TurnShape | None) -> Region | None:
    """Return the rendered call with what follows it in this shape, or None."""
    if shape is None or facts.renders is None:
        return None
    region = facts.renders.calls(shape, SINGLE, TOOLS)
    return None if isinstance(region, TemplateError) else region
