"""Score a response: whether the model called, the right tool, with arguments that are valid and not invented.

`judge` uses only the conversation and the definitions. Terms are the usual ones if there are any: BFCL (the Berkeley
Function-Calling Leaderboard) calls it irrelevance if no tool fits.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from toolfmt.agent.call_shapes import read_arguments
from toolfmt.agent.validation import invalid_arguments
from toolfmt.cli.measure.plan import Question
from toolfmt.cli.measure.scenarios import tools
from toolfmt.cli.measure.subject import SubjectResponse
from toolfmt.messages.message import ToolCall

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
"""A number in a string, with or without thousands separators. The sign is ignored, because it may be a hyphen."""
_GIVEN = ("enum", "const", "default")
"""Schema keywords whose values the model knows."""


@dataclass(frozen=True)
class Judgement:
    """The scores of a response. None if a score does not apply or is unknown.

    - `called`: a client would execute a call in it.
    - `right_tool`: it called all tools of the scenario and no other. Applies to responses with calls.
    - `valid_arguments`: the arguments of all calls match the schemas of their tools. Applies to responses with calls.
    - `invented_arguments`: an argument has a value that does not occur in the conversation. Applies to responses with
      calls.
    - `rejected`: toolfmt's parser rejected a call.
    - `left_in_text`: the server left a call in the text, so that clients do not execute it.
    - `misread_result`: a fact of a result is missing in the response to it. Applies to responses to results, and is
      their only score.
    """

    called: bool | None = None
    right_tool: bool | None = None
    valid_arguments: bool | None = None
    invented_arguments: bool | None = None
    rejected: bool | None = None
    left_in_text: bool | None = None
    misread_result: bool | None = None


def judge(question: Question, answer: SubjectResponse) -> Judgement:
    """Return the scores of a response to this question. Raises `ToolfmtError` if jsonschema is not installed."""
    scenario, calls = question.scenario, answer.message.tool_calls
    if question.returned:
        text = answer.message.content or ""
        return Judgement(misread_result=not all(occurs(fact, text) for fact in scenario.facts))
    judgement = {
        "called": bool(calls),
        "rejected": bool(answer.message.rejected) if answer.rejections_known else None,
        "left_in_text": None if answer.left_in_text is None else answer.left_in_text > 0,
    }
    if calls and scenario.calls:
        judgement["right_tool"] = {call.name for call in calls} == scenario.tools
        judgement["valid_arguments"] = all(map(is_valid, calls))
        conversation = _texts(question.messages)
        judgement["invented_arguments"] = any(invented(call, conversation) for call in calls)
    return Judgement(**judgement)


def check_judge() -> None:
    """Raise `ToolfmtError` if jsonschema is not installed, to report it before hours of measuring."""
    invalid_arguments({}, {})


def is_valid(call: ToolCall) -> bool:
    """Return whether a tool of this name exists and its schema accepts the arguments.

    The check is that of executing a call, so arguments with a duplicate name are invalid.
    """
    parameters = _parameters().get(call.name)
    arguments, why_not = read_arguments(call.arguments)
    return parameters is not None and not why_not and not invalid_arguments(arguments, parameters)


def invented(call: ToolCall, conversation: str) -> list[str]:
    """Return the values in a call's arguments that do not occur in the conversation, at any depth, in order.

    Values that a schema lists (`enum`, `const`, `default`) are known. Examples in a description or in the instructions
    for tools are not. Texts are compared word by word, ignoring case, whitespace and punctuation, numbers by value.
    Booleans, null and empty texts cannot be invented.
    """
    given = _listed(_parameters().get(call.name, {}))
    values = [value for value in _leaves(_arguments(call)) if value not in given]
    return [str(value) for value in values if not occurs(value, conversation)]


def occurs(value: str | float, text: str) -> bool:
    """Return whether a value occurs in a string: its words in sequence, or a number of the same value.

    A string without any word (`€`) must occur unchanged.
    """
    number = _as_number(value)
    if number is not None and number in {_read(found) for found in _NUMBER.findall(text)}:
        return True
    if not isinstance(value, str):
        return False
    words = _words(value)
    return words in _words(text) if words.strip() else _folded(value).strip() in _folded(text)


def _as_number(value: str | float) -> float | None:
    if isinstance(value, str):
        return _read(value) if _NUMBER.fullmatch(value) else None
    return abs(float(value)) if abs(value) < 1e300 else None  # a larger one is not a float


def _read(number: str) -> float:
    return float(number.replace(",", ""))


@lru_cache(maxsize=64)
def _words(text: str) -> str:
    """Return the case-folded words of a string, with a space around each, to find word sequences as substrings."""
    return f" {' '.join(_WORD.findall(_folded(text)))} "


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _texts(messages: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(message["content"] for message in messages if message.get("content"))


def _arguments(call: ToolCall) -> Any:
    """Return the parsed arguments. A string that is not JSON is returned as it is, and matches no schema."""
    try:
        return json.loads(call.arguments)
    except (ValueError, RecursionError):
        return call.arguments


def _leaves(value: Any) -> Iterator[str | float]:
    """Yield the texts and numbers in the value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (dict, list)):
            waiting += reversed(list(one.values() if isinstance(one, dict) else one))
        elif isinstance(one, (str, int, float)) and not isinstance(one, bool) and one != "":
            yield one


def _listed(schema: Any) -> list[Any]:
    """Return the values that a schema lists, at any depth."""
    if isinstance(schema, list):
        return [value for inner in schema for value in _listed(inner)]
    if not isinstance(schema, dict):
        return []
    here = [schema[key] for key in _GIVEN if key in schema]
    values = [value for listed in here for value in (listed if isinstance(listed, list) else [listed])]
    return [*values, *(value for inner in schema.values() for value in _listed(inner))]


@cache
def _parameters() -> dict[str, dict[str, Any]]:
    return {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools()}
