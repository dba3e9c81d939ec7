"""Create the `response_template` of a format, and verify with transformers' own parser what it can and cannot parse.

`toolfmt.formats.response_template.writer` expresses a format in the template language, as far as possible. This module
writes calls in the format and parses them with `ResponseParser` (transformers 5.23, `utils/chat_parsing`). The result
must be equal to the input, at once and character by character. A template that fails for plain calls is rejected. Other
failures are listed by name (`LIMITS`): the language has one end marker per region, wherever it occurs, and cannot
describe a cut response.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from toolfmt.errors import CannotWrite, NoResponseTemplate
from toolfmt.formats import Call, ToolCallFormat, get, write
from toolfmt.formats.response_template.writer import template_of

LIMITS = {
    "closer_in_value": "a value that contains the end marker of a call",
    "closer_behind_bracket": "a value that contains the end marker of a call directly after } or ]",
    "opener_in_text": "a string that mentions the start marker of a call",
    "quoted_call": "a call that a sentence quotes between backticks",
    "second_frame": "a second list of calls in one output",
    "null": "null, where the family writes Python's None",
    "odd_keys": "a key that is not a word",
    "untyped_values": "arguments that are not strings, if the tools are not passed",
    "string_or_number": "text that looks like a number, where the schema allows a string or a number",
    "cut_answer": "an output truncated within a call: an error, or a call that the model did not write",
}
"""What the template of a format may parse wrongly, by name: the text or call is lost, changed, or raises an error."""

_PROPERTIES: dict[str, Any] = {
    **{name: {"type": "string"} for name in ("text", "other", "odd-key of it")},
    "count": {"type": "integer"},
    "ratio": {"type": "number"},
    "yes": {"type": "boolean"},
    "maybe": {"type": ["string", "null"]},
    "either": {"type": ["string", "integer"]},
    "inner": {"type": "object"},
    "list": {"type": "array"},
}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "A tool.",
            "parameters": {"type": "object", "properties": _PROPERTIES},
        },
    }
    for name in ("f", "get_it")
]
_TEXTS = {
    "text": "Paris",
    "quotes, brackets and a backslash": "a \"b\" 'c' \\ \\n {x} [1] (y) & 50% <b> a=b",
    "lines": "line 1\n  line 2\n\nline 3",
    "letters of all kinds": "Zoë 日本 🙂 \u2028",
    "a string that looks like a number": "5",
    "a string that looks like a JSON literal": "true",
    "an empty text": "",
    "whitespace at the ends of a string": "  if x:\n    y  ",
    "line breaks at the ends of a string": "\nx\n",
}
_PLAIN: dict[str, list[Call]] = {
    "a call": [("f", {"text": "Paris"})],
    "numbers and words": [("f", {"count": 2, "ratio": 0.5, "yes": True})],
    "objects and lists": [("f", {"inner": {"a": [1, True, "x"]}, "list": ["x", {"b": "c"}]})],
    "no arguments": [("f", {})],
    "two calls": [("f", {"text": "A", "count": 1}), ("get_it", {"other": "B"})],
    "three calls": [("f", {"text": "A"}), ("get_it", {}), ("f", {"count": 3})],
    **{what: [("f", {"other": text, "text": "x"})] for what, text in _TEXTS.items()},
}


class OutputCase(NamedTuple):
    """A response and its content. `name` is that of a limit, or describes the response."""

    name: str
    answer: str
    content: str = ""
    reasoning: str = ""
    calls: Sequence[Call] = ()
    tools: list[dict[str, Any]] | None = TOOLS


def response_template(
    format: str | ToolCallFormat, *, start_anchor: str | Sequence[str] | None = None, stop: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the `response_template` of a format. transformers' parser has been verified to parse plain calls with it.

    Assign the result to `tokenizer.response_template`. transformers 5.15 and older do not support `join`, which keeps
    content before a call. Pass the tools to `parse_response`, because they define the types of arguments.

    Args:
        format: A format or its name.
        start_anchor: What precedes a response in the model's prompts. The default is a pattern that matches most
            families.
        stop: The end-of-turn tokens, which do not belong to any field.

    Raises:
        NoResponseTemplate: The language cannot express the format.
        UnknownFormat: There is no format of this name.
    """
    known = get(format) if isinstance(format, str) else format
    template = template_of(known, start_anchor=start_anchor, stop=stop)
    for case in plain_cases(known, stop):
        problem = misread(template, case)
        if problem:
            raise NoResponseTemplate(
                f"{known.name} has no response_template: transformers reads {case.name} as {problem}"
            )
    return template


def limits(format: str | ToolCallFormat, template: dict[str, Any], *, stop: Sequence[str] = ()) -> tuple[str, ...]:
    """Return what `template` does not parse in the format's responses. Each limit is tested.

    Args:
        format: A format or its name.
        template: A `response_template`.
        stop: The end-of-turn tokens.

    Returns:
        Names in `LIMITS`.
    """
    known = get(format) if isinstance(format, str) else format
    found = {case.name for case in hard_cases(known, stop) if misread(template, case)}
    return tuple(name for name in LIMITS if name in found)


def plain_cases(format: ToolCallFormat, stop: Sequence[str] = ()) -> Iterator[OutputCase]:
    """Yield what every template must parse: calls alone, after text, after reasoning, and text alone."""
    end = stop[0] if stop else ""
    for name, calls in _PLAIN.items():
        written = _written(format, calls)
        if written:
            yield OutputCase(name, written + end, calls=calls)
    call = _PLAIN["a call"]
    written = _written(format, call)
    yield OutputCase("text", "Just text, and a < b." + end, content="Just text, and a < b.")
    yield OutputCase("text before a call", "Let me see.\n\n" + written + end, content="Let me see.", calls=call)
    for opener, closer in format.reasoning[:1]:
        thought = f"{opener}\nFirst this.\n{closer}\n\n"
        yield OutputCase("reasoning", thought + "Done." + end, content="Done.", reasoning="First this.")
        yield OutputCase("reasoning before a call", thought + written + end, reasoning="First this.", calls=call)


def hard_cases(format: ToolCallFormat, stop: Sequence[str] = ()) -> Iterator[OutputCase]:
    """Yield what a template may fail to parse, by the name of the limit."""
    end = stop[0] if stop else ""
    texts = []
    for closer in _closers(format):
        texts += [
            ("closer_in_value", f"see {closer} here"),
            ("closer_behind_bracket", f"{{x}}{closer} and [y]{closer}"),
        ]
    arguments: list[tuple[str, dict[str, Any]]] = [
        *((name, {"text": text}) for name, text in texts),
        ("odd_keys", {"odd-key of it": "x"}),
    ]
    arguments += [("string_or_number", {"either": "5"}), ("null", {"maybe": None}), ("null", {"inner": {"a": [None]}})]
    for name, given in arguments:
        written = _written(format, [("f", given)])
        if written:
            yield OutputCase(name, written + end, calls=[("f", given)])
    for opener in format.openers[:1]:
        sentence = f"It writes {opener} before each, or so."
        yield OutputCase("opener_in_text", sentence + end, content=sentence)
    call = _PLAIN["a call"]
    written = _written(format, call)
    quoting = f"One would write `{written}` there."
    yield OutputCase("quoted_call", quoting + end, content=quoting)
    yield OutputCase("second_frame", f"{written}\n{written}{end}", calls=[*call, *call])
    typed: list[Call] = [("f", {"count": 2, "yes": True})]
    yield OutputCase("untyped_values", _written(format, typed, tools=None) + end, calls=typed, tools=None)
    yield OutputCase("cut_answer", written[: written.index("Par") + 2])


def _closers(format: ToolCallFormat) -> list[str]:
    """Return what ends a call: its end markers and all text after its arguments, or the next call's start marker."""
    written = _written(format, [("f", {})])
    after = written.rpartition("{}")[2] if "{}" in written else written.rpartition("f")[2]
    ends = (*format.closers, *format.engine.inner.closers, after.lstrip("}]\"'>= \n"))
    return list(dict.fromkeys(filter(None, ends))) or list(format.openers[:1])


def misread(template: dict[str, Any], case: OutputCase) -> str:
    """Return what transformers makes of a response if that is wrong. Empty if it is right."""
    from transformers.utils.chat_parsing import ResponseParser  # from 5.13 on; streaming does not need it

    expected = (case.content, case.reasoning, _canonical(case.calls))
    pieces: tuple[Sequence[str], ...] = ([case.answer], case.answer)
    for given in pieces:
        parser = ResponseParser(template, prefix="", tools=case.tools)  # type: ignore[arg-type]  # asks for more than it reads
        try:
            for piece in given:
                parser.feed(piece)
            message, _ = parser.finalize()
        except Exception as error:  # noqa: BLE001  # any error for a model's output is the result
            return f"an error ({type(error).__name__})"
        found = _found(message)
        if found != expected:
            return json.dumps(found, ensure_ascii=False)
    return ""


def _found(message: dict[str, Any]) -> tuple[str, str, list[str]]:
    made = message.get("tool_calls") or []
    functions = [call["function"] for call in (made if isinstance(made, list) else [made])]
    calls = [(function.get("name"), function.get("arguments")) for function in functions]
    reasoning = message.get("reasoning_content", message.get("thinking", ""))
    return message.get("content", "").strip(), reasoning.strip(), _canonical(calls)


def _canonical(calls: Sequence[tuple[Any, Any]]) -> list[str]:
    return [json.dumps(call, sort_keys=True, ensure_ascii=False) for call in calls]


def _written(format: ToolCallFormat, calls: Sequence[Call], tools: Any = TOOLS) -> str:
    """Return the text of these calls. Empty if the format cannot represent them."""
    try:
        return write(format, calls, tools)
    except CannotWrite:
        return ""
