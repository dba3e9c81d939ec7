"""Find the problems in a response to a probe, and the differences between the whole and the streamed response."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from toolfmt.cli.doctor.leftovers import left_calls, left_marker, left_reasoning
from toolfmt.cli.doctor.probes import CUT_AFTER, SCHEMAS, TOOL_NAMES, Probe
from toolfmt.cli.doctor.response import Problem, ResponseCall, ServerResponse
from toolfmt.formats import ToolCallFormat

_TYPES: dict[str, type] = {"integer": int, "string": str, "object": dict, "array": list}
_CONSEQUENCES = ("arguments-invalid", "call-left-in-content", "marker-in-content", "arguments-repeated", "call-lost")
"""What a value with markers leads to if the server ends the call inside of it."""


def problems(probe: Probe, response: ServerResponse, format: ToolCallFormat | None) -> list[Problem]:
    """Return everything that is wrong with a response, without notices."""
    found = list(response.problems)
    if probe.name == "cut":
        return [*found, *_cut(response)]
    for call in response.calls:
        found += _arguments(call, response)
        found += _name(call, response)
    found += _text(probe, response, format)
    if not any(problem.name == "call-left-in-content" for problem in found):
        found += _finish(probe, response)
    found += _choice(probe, response, found)
    return list({problem.name: problem for problem in reversed(found)}.values())[::-1]


def with_markers(probe: Probe, response: ServerResponse, found: Sequence[Problem]) -> list[Problem]:
    """Return the problems of the probe `markers`, with those that a value with markers leads to as one."""
    text = str(probe.calls[0][1]["text"])
    given = _object(response.calls[0].arguments) if response.calls else None
    value = given.get("text") if given is not None else None
    is_cut = isinstance(value, str) and value != text and len(value) > 0 and text.startswith(value.rstrip())
    causes = [problem for problem in found if problem.name in _CONSEQUENCES]
    if not causes and not is_cut:
        return list(found)
    seen = f"the text {text!r} arrived as {value!r}" if is_cut else causes[0].seen
    others = [problem for problem in found if problem not in causes]
    return [*others, Problem("value-cut", seen, next((each.format for each in causes if each.format), ""))]


def notices(response: ServerResponse) -> list[Problem]:
    """Return what a client should know, and what may be an error of the model."""
    found = []
    for call in response.calls:
        if call.name and not TOOL_NAMES & set(call.name.split()) and not _known_part(call.name):
            found.append(Problem("unknown-tool", f"a call of {call.name!r}"))
        given, schema = _object(call.arguments), SCHEMAS.get(call.name)
        if given is not None and schema is not None:
            for path, value, wanted in _mistyped(given, schema, ""):
                found.append(Problem("other-type", f"{path} is {json.dumps(value, ensure_ascii=False)}, not {wanted}"))
    return found


def undecided(probe: Probe, response: ServerResponse) -> str:
    """Return why a probe shows nothing about the server: the model did something else. Empty if it does."""
    if probe.name == "cut":
        ended = not response.cut and not response.problems
        return "the model wrote a short response, or the server ignores max_tokens" if ended else ""
    if probe.name == "no-call":
        return "the model called a tool" if response.calls else ""
    if not probe.calls:
        return ""
    if response.cut:
        return "the response reached max_tokens"
    if not response.calls:
        return "the model did not call a tool"
    if len(response.calls) < len(probe.calls):
        return "the model made one call"
    if response.calls[0].name in TOOL_NAMES - {name for name, _ in probe.calls}:
        return "the model called another tool"
    if probe.name == "reasoning" and not response.reasoning:
        return "the model did not reason"
    if probe.name == "markers" and _object(response.calls[0].arguments) != probe.calls[0][1]:
        return "the model wrote another value"
    return ""


def differences(whole: ServerResponse, streamed: ServerResponse) -> str:
    """Return the first difference between two responses to the same request, or an empty string."""
    counts = [len(response.calls) for response in (whole, streamed)]
    if counts[0] != counts[1]:
        return f"{_calls(counts[0])} whole, {_calls(counts[1])} streamed"
    for one, other in zip(whole.calls, streamed.calls, strict=True):
        if one.name != other.name:
            return f"the call of {one.name!r} is a call of {other.name!r} in the stream"
        if _parsed(one.arguments) != _parsed(other.arguments):
            return f"arguments {one.arguments} are {other.arguments} in the stream"
    for what in ("content", "reasoning"):
        texts = [" ".join(getattr(response, what).split()) for response in (whole, streamed)]
        if texts[0] != texts[1]:
            return f"{what} {texts[0]!r} is {texts[1]!r} in the stream"
    return ""


def lost_arguments(whole: ServerResponse, streamed: ServerResponse) -> bool:
    """Return whether calls have arguments in one of both responses, and `{}` or nothing in the other."""
    empty = ("", "{}")
    return any(
        one.name == other.name and (one.arguments.strip() in empty) is not (other.arguments.strip() in empty)
        for one, other in zip(whole.calls, streamed.calls, strict=False)
    )


def _arguments(call: ResponseCall, response: ServerResponse) -> list[Problem]:
    """Return what is wrong with the arguments of a call."""
    text = call.arguments
    if not text.strip():
        return [Problem("arguments-missing", f"the arguments of {call.name!r} are an empty string")]
    value = _parsed(text)
    if isinstance(value, dict) or any(problem.name.startswith("arguments-not-") for problem in response.problems):
        return []
    if isinstance(value, str) and isinstance(_parsed(value), dict):
        return [Problem("arguments-double-encoded", f"arguments: {text}")]
    if response.cut and value is None:
        return []  # the finish reason says so
    return [Problem("arguments-repeated" if _is_repeated(call) else "arguments-invalid", f"arguments: {text}")]


def _is_repeated(call: ResponseCall) -> bool:
    """Return whether something was sent twice: the whole object, each fragment, or what earlier fragments had."""
    text, fragments = call.arguments, [each for each in call.fragments if each]
    if len(fragments) > 1 and len(fragments) % 2 == 0 and fragments[::2] == fragments[1::2]:
        return True
    if len(fragments) > 1 and fragments[-1].startswith(fragments[0]) and _object(fragments[-1]) is not None:
        return True
    try:
        first, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and _parsed(text[end:]) == first


def _name(call: ResponseCall, response: ServerResponse) -> list[Problem]:
    if any(problem.name == "name-repeated" for problem in response.problems):
        return []
    if call.name and call.name not in TOOL_NAMES and _known_part(call.name):
        return [Problem("name-wrong", f"a call of {call.name!r}")]
    return []


def _known_part(name: str) -> bool:
    return any(known in name for known in TOOL_NAMES)


def _text(probe: Probe, response: ServerResponse, format: ToolCallFormat | None) -> list[Problem]:
    """Return what was left in the content and in the reasoning."""
    found, content = [], response.content
    count, written = left_calls(content, format) if content.strip() else (0, "")
    if count:
        parsed = f", next to {_calls(len(response.calls))} that the server parsed" if response.calls else ""
        found.append(Problem("call-left-in-content", f"{_calls(count)} in content{parsed}: {content}", written))
    elif response.reasoning.strip() and not response.calls and not content.strip():
        count, written = left_calls(response.reasoning, format)
        if count:
            found.append(Problem("call-in-reasoning", f"reasoning: {response.reasoning}", written))
    if probe.name != "markers":  # its answer may quote the question
        marker = "" if count else left_marker(content)
        if marker and not response.cut:
            found.append(Problem("marker-in-content", f"{marker} in content: {content}"))
    if marker := left_reasoning(content):
        found.append(Problem("reasoning-in-content", f"{marker} in content: {content}"))
    return found


def _finish(probe: Probe, response: ServerResponse) -> list[Problem]:
    reason = response.finish
    if reason is None and not response.streamed:
        return [Problem("finish-reason", "the response has no finish_reason")]
    if response.calls and reason not in ("tool_calls", "length", None):
        if probe.choice not in (None, "required") and reason == "stop":
            return []  # OpenAI's own, if a tool is named
        return [Problem("finish-reason", f"finish_reason {reason!r} with {_calls(len(response.calls))}")]
    if not response.calls and reason == "tool_calls":
        return [Problem("call-lost", f"finish_reason 'tool_calls' without a call, content {response.content!r}")]
    return []


def _choice(probe: Probe, response: ServerResponse, found: list[Problem]) -> list[Problem]:
    if probe.choice is None or response.cut or any(problem.name.startswith("call-") for problem in found):
        return []
    names = [call.name for call in response.calls]
    if not names:
        return [Problem("tool-choice-ignored", f"tool_choice {probe.choice!r}, and no call")]
    if probe.choice in TOOL_NAMES and set(names) & (TOOL_NAMES - {probe.choice}):
        return [Problem("tool-choice-ignored", f"tool_choice {probe.choice!r}, and a call of {names[0]!r}")]
    return []


def _cut(response: ServerResponse) -> list[Problem]:
    """Return what is wrong with a response that the token limit had to cut."""
    if response.cut or not response.calls or response.finish is None:
        return []
    seen = f"max_tokens {CUT_AFTER}, finish_reason {response.finish!r}, and arguments {response.calls[-1].arguments}"
    invalid = _object(response.calls[-1].arguments) is None
    if invalid or response.completion_tokens >= CUT_AFTER:
        return [Problem("cut-call-reported", seen)]
    return []


def _mistyped(value: Any, schema: dict[str, Any], path: str) -> list[tuple[str, Any, str]]:
    """Return the values that have another type than the schema requests: path, value and type."""
    kind = schema.get("type", "")
    if not isinstance(value, _TYPES.get(kind, object)):
        return [(path or "the value", value, kind)]
    found = []
    if isinstance(value, dict):
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                found += _mistyped(value[name], inner, f"{path}.{name}" if path else name)
    return found


def _parsed(text: str) -> Any:
    """Return the JSON value, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _object(text: str) -> dict[str, Any] | None:
    value = _parsed(text)
    return value if isinstance(value, dict) else None


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"
