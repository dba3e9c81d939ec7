"""Values in past calls that are not strings: written as JSON, or as Python's repr."""

from __future__ import annotations

import re

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.capabilities import threw
from toolfmt.inspect.probe.conversations import (
    ALL_TOOLS,
    BARE_TOOL,
    SINGLE,
    TYPED,
    TYPED_TOOL,
    Message,
    conversation,
    user,
)
from toolfmt.inspect.probe.turns.turn_probe import TurnProbe, no, yes
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import excerpt

PYTHON = re.compile(r"\b(?:True|False|None)\b|\{'[a-z]+': ")
"""What only Python's repr writes for the tested values."""
_NONE = re.compile(r"\bNone\b")
TRIED = ((TYPED_TOOL, TYPED), (TYPED_TOOL, {"text": "plain", "limit": None}))


def arguments_missing(probe: TurnProbe) -> Answer:
    """Return whether a call without parameters may have `arguments` null or "", as some clients send it."""
    if not probe.renders_calls:
        return no("not tested: no call is rendered")
    # A separate cache: errors for an argument in another form have their own finding.
    shape, renders = probe.shape, probe.renders.anew()
    messages, tools = conversation(shape, ((BARE_TOOL, {}),)), ALL_TOOLS if shape.tools else None
    plain, question = renders.text(messages, tools), renders.text(user(system=shape.system), tools)
    if plain.count(BARE_TOOL) <= question.count(BARE_TOOL):  # the definition contains the tool's name, too
        return no("no call without arguments is rendered")
    for what, value in (("null", None), ("an empty string", "")):
        prompt = renders.render([_with_arguments(message, value) for message in messages], tools)
        if isinstance(prompt, TemplateError):
            return threw(prompt, f"`arguments` that are {what} are rejected")
        if prompt.count(BARE_TOOL) <= question.count(BARE_TOOL):
            return no(f"a call whose `arguments` are {what} is dropped", "dropped")
        if len(_NONE.findall(prompt)) > len(_NONE.findall(plain)):
            at = prompt.rfind("None")
            return no(
                f"`arguments` that are {what} are printed as None", "python", None, excerpt(prompt, at - 30, at + 34)
            )
    return yes("a call with `arguments` null or an empty string is rendered")


def _with_arguments(message: Message, value: str | None) -> Message:
    """Return the message with these arguments on its calls."""
    calls = [
        call | ({"function": call["function"] | {"arguments": value}} if "function" in call else {"arguments": value})
        for call in message.get("tool_calls") or []
    ]
    return message | {"tool_calls": calls} if calls else message


def values_as_json(probe: TurnProbe) -> Answer:
    """Return whether true, null and nested values of a call are written as JSON, not as Python's repr."""
    if not probe.renders_calls:
        return no("not tested: no call is rendered")
    shape, renders = probe.shape, probe.renders
    plain = renders.calls(shape, SINGLE, ALL_TOOLS)
    own = set() if isinstance(plain, TemplateError) else set(PYTHON.findall(plain.text))
    error: TemplateError | None = None
    for call in TRIED:
        region = renders.calls(shape, (call,), ALL_TOOLS)
        if isinstance(region, TemplateError):
            error = error or region
            continue
        found = next((match for match in PYTHON.finditer(region.text) if match[0] not in own), None)
        if found is not None:
            shown = excerpt(region.text, found.start() - 24, found.end() + 16)
            tools = ALL_TOOLS if shape.tools else None
            line = renders.line_at(
                conversation(shape, (call,)), tools, len(region.before) + found.start(), innermost=True
            )
            what = found[0] if found[0].isalpha() else "a dict"
            return no(f"{what} is printed as in Python", "python", line, shown)
    given = " (tested with `arguments` as a JSON string)" if shape.arguments == "string" else ""
    return threw(error) if error else yes("true, null and nested values are not printed as in Python{}", None, given)
