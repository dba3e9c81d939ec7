"""What an answer shows: whether the model called, the right tool, with arguments that fit and that it was given.

`judge` decides by the conversation and the definitions alone. The terms are the field's where it has them: BFCL (the
Berkeley Function-Calling Leaderboard) calls it irrelevance where no tool fits.
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
"""A number in a text, thousands apart by commas or not; a sign before it may be a hyphen, and does not count."""
_GIVEN = ("enum", "const", "default")
"""The keywords of a schema whose values a model is given."""


@dataclass(frozen=True)
class Judgement:
    """What of an answer counts; None where that is not asked of it, or could not be seen.

    - `called`: a client would execute a call of it.
    - `right_tool`: it called all tools that the scenario wants, and no other. Of answers that called.
    - `valid_arguments`: the arguments of all its calls fit the schemas of their tools. Of answers that called.
    - `invented_arguments`: an argument of a call has a value that stands nowhere in the conversation. Of answers that
      called.
    - `rejected`: toolfmt's reader rejected a call.
    - `left_in_text`: whoever answered left a call in the text, where no client executes it.
    - `misread_result`: a fact that a tool returned is not in the answer to it. Of answers to results; nothing else is
      asked of these.
    """

    called: bool | None = None
    right_tool: bool | None = None
    valid_arguments: bool | None = None
    invented_arguments: bool | None = None
    rejected: bool | None = None
    left_in_text: bool | None = None
    misread_result: bool | None = None


def judge(question: Question, answer: SubjectResponse) -> Judgement:
    """What an answer to this question shows. Raises `ToolfmtError` where jsonschema is not installed."""
    scenario, calls = question.scenario, answer.message.tool_calls
    if question.returned:
        told = answer.message.content or ""
        return Judgement(misread_result=not all(occurs(fact, told) for fact in scenario.facts))
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
    """Raises `ToolfmtError` where jsonschema is not installed: who asks a model for hours wants to know it before."""
    invalid_arguments({}, {})


def is_valid(call: ToolCall) -> bool:
    """Whether a tool of this name is there and its schema takes the arguments; as calls are carried out, so that a
    name that stands in them twice is not."""
    parameters = _parameters().get(call.name)
    arguments, why_not = read_arguments(call.arguments)
    return parameters is not None and not why_not and not invalid_arguments(arguments, parameters)


def invented(call: ToolCall, conversation: str) -> list[str]:
    """The values in a call's arguments that stand nowhere in the conversation: in lists and objects too, in their
    order.

    What a schema lists (`enum`, `const`, `default`) is given; what is only an example in a description, or in the
    instructions for tools, is not. A text is compared word by word, so that case, blanks and punctuation make no
    difference, a number by its value. Truth values, null and empty texts say nothing that could be made up.
    """
    given = _listed(_parameters().get(call.name, {}))
    values = [value for value in _leaves(_arguments(call)) if value not in given]
    return [str(value) for value in values if not occurs(value, conversation)]


def occurs(value: str | float, text: str) -> bool:
    """Whether a value stands in a text: its words one behind the other, or for a number one of the same value. Signs
    without any word (`€`) stand there as they are."""
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
    return abs(float(value)) if abs(value) < 1e300 else None  # a larger one is no float


def _read(number: str) -> float:
    return float(number.replace(",", ""))


@lru_cache(maxsize=64)
def _words(text: str) -> str:
    """The words of a text, folded, with a blank on both sides of each: what is in it word by word is in it as text."""
    return f" {' '.join(_WORD.findall(_folded(text)))} "


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _texts(messages: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(message["content"] for message in messages if message.get("content"))


def _arguments(call: ToolCall) -> Any:
    """The arguments, read; a text that is not JSON stands for itself, and fits no schema."""
    try:
        return json.loads(call.arguments)
    except (ValueError, RecursionError):
        return call.arguments


def _leaves(value: Any) -> Iterator[str | float]:
    """The texts and numbers in it."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (dict, list)):
            waiting += reversed(list(one.values() if isinstance(one, dict) else one))
        elif isinstance(one, (str, int, float)) and not isinstance(one, bool) and one != "":
            yield one


def _listed(schema: Any) -> list[Any]:
    """The values that a schema lists, anywhere in it."""
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
