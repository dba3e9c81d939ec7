"""The conversations of the branch probes, with one changed text or number each, and names for the changes.

They have words of their own, so that a template cannot recognize them by the sentinels of other probes. This module is
only data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from toolfmt.inspect.probe.conversations import Message, answering, calling, text_part, tool_definition
from toolfmt.inspect.report.turn_shape import TurnShape

SLOTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "system": ("Zk1vow", "the system message"),
        "question": ("Yf2lum", "a question"),
        "result": ("Xb6nak", "a tool result"),
        "reply": ("Wj4pel", "a response"),
        "further": ("Vh3ton", "the last question"),
        "beside": ("Qk8fay", "text next to a call"),
        "reasoning": ("Uz5mir", "reasoning"),
        "value": ("Tw9dix", "an argument"),
        "name": ("seek_zalf", "a tool's name"),
        "description": ("Sd7gos", "a tool's description"),
        "parameter": ("zorb", "a parameter's name"),
        "about": ("Rc8huv", "a parameter's description"),
        "other": ("grab_molk", "the other tool's name"),
        "id": ("Kj4Hf8Lm2", "the id of a call"),
    }
)
"""The texts that can be changed separately: the default word and its description in the report."""

TOOLS = frozenset({"description", "about", "other"})
"""The slots that only tool definitions have. If all are missing from a prompt, so are the tools."""
ABOUT_TOOLS = TOOLS | {"name", "parameter"}
PARAMETER_TYPE = "string"
"""The type of every parameter."""

_WORDS = {slot: word for slot, (word, _) in SLOTS.items()}


_SHORTEST_CUT = 2


def is_sent_word(value: str) -> bool:
    """Return whether a string contains a word of these conversations, or is one reversed."""
    return any(word in value or word[::-1] == value for word in _WORDS.values())


def holds_sent_word(value: str) -> bool:
    """Return whether a string was computed from these conversations: it contains a word or is cut from one."""
    cut = len(value) >= _SHORTEST_CUT and any(value in word or value[::-1] in word for word in _WORDS.values())
    return cut or is_sent_word(value)


def inverse(value: str, text: str) -> str | None:
    """Return the text that a template turns into `text` by the operation that turned a word into `value`, or None.

    The operation is a reversal or a cut from some position on.
    """
    for word in _WORDS.values():
        if value == word[::-1]:
            return text[::-1]
        if len(value) >= _SHORTEST_CUT and value != word and value in word and not word.startswith(value):
            return word[: word.find(value)] + text
    return None


@dataclass(frozen=True)
class Manner:
    """The form of conversations that a template accepts.

    `shape` is that of its calls, None if it renders none. The others: tools, a system message, text next to a call,
    and results as parts.
    """

    shape: TurnShape | None
    tools: bool
    system: bool
    text_with_call: bool
    parts: bool


@dataclass(frozen=True)
class BranchConversation:
    """Messages and tools, and the slots in them."""

    messages: list[Message]
    tools: list[Message] | None
    slots: tuple[str, ...]


def talk(manner: Manner, kind: str, texts: Mapping[str, str] = MappingProxyType({})) -> BranchConversation:
    """Return the conversation with these texts in their slots, and the usual words in the others."""
    contents = _WORDS | dict(texts)
    slots = ["question"]
    content: Any = contents["question"]
    if kind == "parts":
        slots.append("further")
        content = [*text_part(contents["question"]), *text_part(contents["further"])]
    messages: list[Message] = [{"role": "user", "content": content}]
    if manner.system:
        slots.append("system")
        messages.insert(0, {"role": "system", "content": contents["system"]})
    tools = _tools(contents) if manner.tools and kind != "plain" else None
    if tools is not None:
        slots += ["name", "description", "parameter", "about", "other"]
    if kind in ("short", "parts", "plain"):
        return BranchConversation(messages, tools, tuple(slots))
    if manner.shape is not None:
        with_text = kind == "whole" and manner.text_with_call
        messages += _exchange(manner, manner.shape, contents, with_text=with_text)
        slots += ["beside"] if with_text else []
        slots += ["value", "result", *(["reasoning"] if manner.shape.reasoning else [])]
        slots += ["id"] if manner.shape.ids == "nine" else []
    if kind == "whole":
        messages += [
            {"role": "assistant", "content": contents["reply"]},
            {"role": "user", "content": contents["further"]},
        ]
        slots += ["reply", "further"]
    return BranchConversation(messages, tools, tuple(dict.fromkeys(slots)))


def talk_with_role(manner: Manner, role: str, *, first: bool) -> BranchConversation:
    """Return a question followed by a message with this role. If `first`, the message comes first."""
    given = talk(manner, "short")
    message: Message = {"role": role, "content": "Zr6wup"}
    question = given.messages[-1:]
    return BranchConversation([message, *question] if first else [*given.messages, message], given.tools, given.slots)


def _exchange(manner: Manner, shape: TurnShape, contents: Mapping[str, str], *, with_text: bool) -> list[Message]:
    """Return a turn with a call, and its result."""
    calls = [(contents["name"], {contents["parameter"]: contents["value"]})]
    turn = calling(shape, calls) | ({"content": contents["beside"]} if with_text else {})
    if shape.reasoning:
        turn["reasoning_content"] = contents["reasoning"]
    results = answering(shape, calls, [contents["result"]])
    if shape.ids == "nine":
        turn["tool_calls"] = [call | {"id": contents["id"]} for call in turn["tool_calls"]]
        results = [result | {"tool_call_id": contents["id"]} for result in results]
    if manner.parts:
        results = [result | {"content": text_part(result["content"])} for result in results]
    return [turn, *results]


def _tools(contents: Mapping[str, str]) -> list[Message]:
    parameter = {"type": PARAMETER_TYPE, "description": contents["about"]}
    first = tool_definition(
        contents["name"], contents["description"], {contents["parameter"]: parameter}, [contents["parameter"]]
    )
    return [first, tool_definition(contents["other"], "Grabs it.", {"glub": {"type": PARAMETER_TYPE}}, [])]


@dataclass(frozen=True)
class GrowingConversations:
    """Conversations with a growing number of one thing.

    `called` and `parts` are its names in the report. Every text contains a word of its own.
    """

    called: str
    parts: str
    kind: str
    shown: int = 2
    """How many of them a template renders if it renders any number."""
    system: bool = True
    """Whether a system message comes before them, if the template accepts one."""
    tools: bool = True
    """Whether tools are sent, if the template accepts any."""

    def words(self, length: int) -> list[str]:
        """Return the words of a row of this length; those of results come last."""
        letters = ["".join("bcdfghjklm"[int(digit)] for digit in f"{number:03d}") for number in range(length)]
        words = [f"wix_{one}" if self.kind == "tools" else f"Zx{one}" for one in letters]
        return [*words, *(f"Wx{one}" for one in letters)] if self.kind in ("calls", "rounds") else words


ROWS = (
    GrowingConversations("messages", "messages", "messages"),
    GrowingConversations("tools", "tools", "tools", 1),
    GrowingConversations("calls in a turn", "calls and results", "calls"),
    GrowingConversations("turns with calls", "calls and results", "rounds"),
)
WITHOUT_TOOLS = GrowingConversations("messages without tools", "messages", "messages", tools=False)
WITHOUT_SYSTEM = (GrowingConversations("messages", "messages", "messages", system=False),)
"""Rows in which messages have other positions than after a system message."""


def row(manner: Manner, what: GrowingConversations, length: int) -> BranchConversation | None:
    """Return a conversation of this length, or None if the template does not accept one."""
    every = what.words(length)
    words, results = every[:length], every[length:]
    first: list[Message] = [{"role": "system", "content": _WORDS["system"]}] if manner.system and what.system else []
    question: Message = {"role": "user", "content": _WORDS["question"]}
    tools = _tools(_WORDS) if manner.tools and what.tools else None
    shape = manner.shape
    if what.kind == "messages":
        roles = ("user", "assistant")
        turns: list[Message] = [{"role": roles[n % 2], "content": word} for n, word in enumerate(words)]
        return BranchConversation([*first, *turns], tools, ())
    if what.kind == "tools":
        return BranchConversation([*first, question], [_named(word) for word in words], ()) if manner.tools else None
    if shape is None:
        return None
    name, key = _WORDS["name"], _WORDS["parameter"]
    exchanges = [
        _numbered(shape, (name, {key: word}), result, n)
        for n, (word, result) in enumerate(zip(words, results, strict=True))
    ]
    if what.kind == "calls":
        turn = exchanges[0][0] | {"tool_calls": [call for called, _ in exchanges for call in called["tool_calls"]]}
        messages = [turn, *(result for _, result in exchanges)]
    else:
        messages = [message for exchange in exchanges for message in exchange]
    return BranchConversation([*first, question, *messages], tools if shape.tools else None, ())


def _numbered(shape: TurnShape, call: tuple[str, dict[str, str]], result: str, number: int) -> tuple[Message, Message]:
    """Return a turn with a call, and its result, with an id of nine digits if ids are free."""
    turn, (answer,) = calling(shape, [call], first=number), answering(shape, [call], [result], first=number)
    if shape.ids == "nine":
        turn["tool_calls"] = [made | {"id": f"{number + 1:09}"} for made in turn["tool_calls"]]
        answer["tool_call_id"] = f"{number + 1:09}"
    return turn, answer


def _named(word: str) -> Message:
    return tool_definition(word, "Does it.", {"glub": {"type": PARAMETER_TYPE}}, [])
