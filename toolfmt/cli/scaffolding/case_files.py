"""The case files of a new format: cases that its template verifies, and for the other topics notes on what to find out.

A case here is a turn that the template rendered. Its text is the rendered output, and its expectation is the input. No
parser is involved; the tests then show whether one parses it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt.inspect.shown_turns import RequestedTurn
from toolfmt.testing.corpus import TO_FILL, TOPICS, ExpectedCall, ExpectedText, case_text, lines_of, tool_sets

SEEN = "rendered by its template"
_CONTENT = "I will look that up."
_REASONING = "They want to know the weather, so the tool is called."


@dataclass(frozen=True)
class CaseRequest:
    """A case in preparation: its topic and title, the tools by their name in corpus/tools.json, and the turn."""

    topic: str
    title: str
    tools: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    content: str = ""
    reasoning: str = ""
    declared: bool = True
    """Whether the parser gets the tools with which the turn was rendered."""

    @property
    def turn(self) -> RequestedTurn:
        return RequestedTurn(tool_sets()[self.tools], self.calls, self.content, self.reasoning)

    def content_in(self, text: str, alone: str | None) -> str:
        """Return what of the rendered text is content. `alone` is the rendering of the same calls without content.

        Whitespace between them belongs to the content, which is verbatim.
        """
        calls = "" if alone is None else alone.strip()
        begin = text.find(self.content)
        if not self.content or not calls or not text.rstrip().endswith(calls) or begin < 0:
            return self.content
        return text[begin : text.rindex(calls)]

    def reasoning_in(self, text: str) -> str:
        """Return the reasoning with the whitespace around it, because text inside the markers is verbatim."""
        found = re.search(rf"\s*{re.escape(self.reasoning)}\s*", text)
        return found[0] if found else self.reasoning

    def case(self, text: str, alone: str | None) -> str:
        """Return the case with the text that the template rendered for the turn."""
        expected: list[ExpectedText | ExpectedCall] = []
        if self.reasoning:
            expected.append(ExpectedText("reasoning", self.reasoning_in(text)))
        if self.content:
            expected.append(ExpectedText("content", self.content_in(text, alone)))
        for number, (name, arguments) in enumerate(self.calls):
            expected.append(ExpectedCall(number, name, arguments=json.dumps(arguments)))
        tools = tool_sets()[self.tools] if self.declared else None
        lines = [line for line in lines_of(expected) if not line.startswith("end ")]  # the end of a call is implied
        return case_text(self.title, text, lines, tools=tools, seen=SEEN)


def _city(**more: Any) -> tuple[str, dict[str, Any]]:
    return "get_weather", {"city": "Oslo", **more}


def _text(text: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": "notes.txt", "text": text}


_CODE = "def f(x):\n    if x:\n        return [x, {'k': \"v\"}]\n\nprint(f(1))"

CASE_REQUESTS = (
    CaseRequest("single", "one call with one argument", "weather", (_city(),)),
    CaseRequest("single", "one call with three arguments", "weather", (_city(unit="celsius", days=3),)),
    CaseRequest("single", "without tool definitions any name is a call", "weather", (_city(),), declared=False),
    CaseRequest("several", "two calls of one tool", "weather", (_city(), ("get_weather", {"city": "Rome", "days": 2}))),
    CaseRequest("several", "two calls of two tools", "weather", (_city(), ("get_time", {}))),
    CaseRequest("several", "three calls, the one in the middle without arguments", "weather",
          (_city(), ("get_time", {}), ("get_weather", {"city": "Lima"}))),
    CaseRequest("text-around", "a sentence before the call", "weather", (_city(),), content=_CONTENT),
    CaseRequest("text-around", "a sentence before two calls", "weather", (_city(), ("get_time", {})), content=_CONTENT),
    CaseRequest("values", "a value of every type", "typed",
          (("set_values", {"text": "plain", "count": 3, "ratio": 0.5, "flag": True, "items": ["a", 1],
                           "options": {"k": None, "deep": {"on": False}}}),)),
    CaseRequest("values", "null where the schema allows it", "typed", (("set_values", {"text": "x", "note": None}),)),
    CaseRequest("values", "strings that look like other values stay strings", "typed",
          (("set_values", {"text": "123", "note": "true"}),)),
    CaseRequest("values", "quotes, a backslash and braces in a string", "files",
          (_text('a "double" and a \'single\' quote, C:\\new, }} {"a": [1]} ]'),)),
    CaseRequest("values", "other scripts in a string", "weather", (("get_weather", {"city": "Osnabrück, 東京"}),)),
    CaseRequest("values", "a string that holds another tag and an entity", "files", (_text("<b>&amp; more</b>"),)),
    CaseRequest("whitespace", "line ends and indentation in a string", "code", (("run_python", {"code": _CODE}),)),
    CaseRequest("whitespace", "whitespace at both ends of a string", "files", (_text("  two before and one after "),)),
    CaseRequest("names", "names with a hyphen, a full stop and underscores", "named",
          (("set-style", {"class": "wide", "data-id": 7}), ("Calendar.create_event", {"title": "Lunch"}),
           ("mcp__files__read", {"path": "a.txt"}))),
    CaseRequest("names", "one name with a full stop", "named", (("Calendar.create_event", {"title": "Lunch"}),)),
    CaseRequest("names", "keys that are words of the notation elsewhere", "keys",
          (("submit", {"name": "n", "id": "7", "text": "t"}),)),
    CaseRequest("no-arguments", "a call without arguments", "weather", (("get_time", {}),)),
    CaseRequest("no-arguments", "two calls without arguments", "weather", (("get_time", {}), ("get_time", {}))),
    CaseRequest("reasoning", "reasoning, then the call", "weather", (_city(),), reasoning=_REASONING),
)  # fmt: skip
"""The turns that the template renders."""

TO_FIND_OUT = {
    "single": "one call, as the model writes it.",
    "several": "two or more calls in one turn, as the model writes them; if a turn can hold only one, what happens to "
    "the second.",
    "text-around": "the content next to calls: text before, between and after them; whitespace there belongs to the "
    "format.",
    "values": "every JSON type; strings that look like other types or contain quotes, line breaks and the format's own "
    "markers; with and without the tool's schema.",
    "whitespace": "whitespace and line breaks around the parts of a call, which are ignored, and inside strings, where "
    "they are kept; an output that is only whitespace.",
    "names": "tool names and keys with other characters (`-`, `.`, `__`); whitespace around a name.",
    "no-arguments": "a call without arguments, in every form that models write.",
    "undeclared": "a call of a tool that was not passed: rejected as undeclared_tool, and the text after it is kept; "
    "then a call of a tool that was passed.",
    "malformed": "what models get wrong (a missing end marker, broken JSON, a missing name): what is read, with which "
    "tolerance, and what is rejected, with which reason.",
    "truncated": "an output cut off inside the name, a key, each kind of value, and between two calls: "
    "incomplete_output; the finished calls before it are kept.",
    "lookalikes": "text that resembles a call but is not one: a marker in a sentence, in a code fence, in backticks, "
    "in a string; none of it disappears.",
    "reasoning": "calls after a reasoning block and in one; which markers the model writes, and whether the prompt "
    "contains the start marker. Without one: an output with reasoning in <think>, which every parser reads.",
}


def case_files(texts: Sequence[str | None], sibling: str) -> dict[str, str]:
    """Return the text of each topic's file, by file name.

    `texts` are the renderings of `CASE_REQUESTS`, None if the template does not render a turn.
    """
    cases: dict[str, list[str]] = {topic: [] for topic in TOPICS}
    for request, text in zip(CASE_REQUESTS, texts, strict=True):
        if text is not None and text.strip() and "\r" not in text:
            cases[request.topic].append(request.case(text, calls_alone(request, texts)))
    return {f"{topic}.txt": "\n".join(cases[topic]) or _to_find_out(topic, sibling) for topic in TOPICS}


def calls_alone(request: CaseRequest, texts: Sequence[str | None]) -> str | None:
    """Return the rendering of this turn's calls without text or reasoning."""
    plain = (
        text
        for other, text in zip(CASE_REQUESTS, texts, strict=True)
        if (other.calls, other.tools, other.content, other.reasoning) == (request.calls, request.tools, "", "")
    )
    return next(plain, None)


def _to_find_out(topic: str, sibling: str) -> str:
    lines = [TO_FIND_OUT[topic], f"corpus/{sibling}/{topic}.txt shows how such cases look; this line goes then."]
    return "".join(f"{TO_FILL}: {line}\n" for line in lines)
