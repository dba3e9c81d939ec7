"""The conversations in which one text, or one number, is another than usual; and what to call what was changed.

Its words are its own: a template that looks for the words of the other probes finds none here. Everything is data;
nothing knows what a template makes of it.
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
        "reply": ("Wj4pel", "an answer"),
        "further": ("Vh3ton", "the last question"),
        "beside": ("Qk8fay", "a text next to a call"),
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
"""What of a conversation is a text of its own: the word that stands there, and what it is called."""

TOOLS = frozenset({"description", "about", "other"})
"""The slots that only definitions of tools have; where all of them are gone, so are the tools."""
ABOUT_TOOLS = TOOLS | {"name", "parameter"}
PARAMETER_TYPE = "string"
"""The type of every parameter."""

_WORDS = {slot: word for slot, (word, _) in SLOTS.items()}


_SHORTEST_CUT = 2


def is_sent_word(value: str) -> bool:
    """Whether a string holds a word of one of these conversations, or is one that is read backwards."""
    return any(word in value or word[::-1] == value for word in _WORDS.values())


def holds_sent_word(value: str) -> bool:
    """Whether a string was computed from one of these conversations: it holds a word of one, or is cut out of one."""
    cut = len(value) >= _SHORTEST_CUT and any(value in word or value[::-1] in word for word in _WORDS.values())
    return cut or is_sent_word(value)


def inverse(value: str, text: str) -> str | None:
    """Return the text that a template turns into `text`, judging by the `value` that it made of a word: one that is
    read backwards, or cut from a position on. None if it is neither.
    """
    for word in _WORDS.values():
        if value == word[::-1]:
            return text[::-1]
        if len(value) >= _SHORTEST_CUT and value != word and value in word and not word.startswith(value):
            return word[: word.find(value)] + text
    return None


@dataclass(frozen=True)
class Manner:
    """How conversations are written for a template: the shape of its calls, None where it renders none; whether it
    takes tools, a system message, a text next to a call; whether results are parts.
    """

    shape: TurnShape | None
    tools: bool
    system: bool
    beside: bool
    parts: bool


@dataclass(frozen=True)
class BranchConversation:
    """Messages and tools, and which of the slots they have."""

    messages: list[Message]
    tools: list[Message] | None
    slots: tuple[str, ...]


def talk(manner: Manner, kind: str, texts: Mapping[str, str] = MappingProxyType({})) -> BranchConversation:
    """The conversation with these texts in their slots, and the usual words in the others."""
    said = _WORDS | dict(texts)
    slots = ["question"]
    asked: Any = said["question"]
    if kind == "parts":
        slots.append("further")
        asked = [*text_part(said["question"]), *text_part(said["further"])]
    messages: list[Message] = [{"role": "user", "content": asked}]
    if manner.system:
        slots.append("system")
        messages.insert(0, {"role": "system", "content": said["system"]})
    tools = _tools(said) if manner.tools and kind != "plain" else None
    if tools is not None:
        slots += ["name", "description", "parameter", "about", "other"]
    if kind in ("short", "parts", "plain"):
        return BranchConversation(messages, tools, tuple(slots))
    if manner.shape is not None:
        beside = kind == "whole" and manner.beside
        messages += _exchange(manner, manner.shape, said, beside=beside)
        slots += ["beside"] if beside else []
        slots += ["value", "result", *(["reasoning"] if manner.shape.reasoning else [])]
        slots += ["id"] if manner.shape.ids == "nine" else []
    if kind == "whole":
        messages += [
            {"role": "assistant", "content": said["reply"]},
            {"role": "user", "content": said["further"]},
        ]
        slots += ["reply", "further"]
    return BranchConversation(messages, tools, tuple(dict.fromkeys(slots)))


def talk_with_role(manner: Manner, role: str, *, first: bool) -> BranchConversation:
    """A question, and a message of this role behind it; in the place of the system message, where it is the first."""
    given = talk(manner, "short")
    message: Message = {"role": role, "content": "Zr6wup"}
    asked = given.messages[-1:]
    return BranchConversation([message, *asked] if first else [*given.messages, message], given.tools, given.slots)


def _exchange(manner: Manner, shape: TurnShape, said: Mapping[str, str], *, beside: bool) -> list[Message]:
    """A turn with a call, and its result."""
    calls = [(said["name"], {said["parameter"]: said["value"]})]
    turn = calling(shape, calls) | ({"content": said["beside"]} if beside else {})
    if shape.reasoning:
        turn["reasoning_content"] = said["reasoning"]
    results = answering(shape, calls, [said["result"]])
    if shape.ids == "nine":
        turn["tool_calls"] = [call | {"id": said["id"]} for call in turn["tool_calls"]]
        results = [result | {"tool_call_id": said["id"]} for result in results]
    if manner.parts:
        results = [result | {"content": text_part(result["content"])} for result in results]
    return [turn, *results]


def _tools(said: Mapping[str, str]) -> list[Message]:
    parameter = {"type": PARAMETER_TYPE, "description": said["about"]}
    first = tool_definition(said["name"], said["description"], {said["parameter"]: parameter}, [said["parameter"]])
    return [first, tool_definition(said["other"], "Grabs it.", {"glub": {"type": PARAMETER_TYPE}}, [])]


@dataclass(frozen=True)
class GrowingConversations:
    """Conversations in which there is more and more of one thing: what it is called, and what the texts in it are.

    Every text has a word of its own.
    """

    called: str
    parts: str
    kind: str
    shown: int = 2
    """How many of them a template shows if it shows any number."""
    system: bool = True
    """Whether a system message stands before them, where the template takes one."""
    tools: bool = True
    """Whether tools are given, where the template takes any."""

    def words(self, length: int) -> list[str]:
        """The words of so many of them; where there are results, theirs behind all others."""
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
"""Where a message has another place than in the rows that begin with a system message."""


def row(manner: Manner, what: GrowingConversations, length: int) -> BranchConversation | None:
    """A conversation with so many of them; None where the template takes none."""
    every = what.words(length)
    words, results = every[:length], every[length:]
    first: list[Message] = [{"role": "system", "content": _WORDS["system"]}] if manner.system and what.system else []
    asked: Message = {"role": "user", "content": _WORDS["question"]}
    tools = _tools(_WORDS) if manner.tools and what.tools else None
    shape = manner.shape
    if what.kind == "messages":
        roles = ("user", "assistant")
        turns: list[Message] = [{"role": roles[n % 2], "content": word} for n, word in enumerate(words)]
        return BranchConversation([*first, *turns], tools, ())
    if what.kind == "tools":
        return BranchConversation([*first, asked], [_named(word) for word in words], ()) if manner.tools else None
    if shape is None:
        return None
    name, key = _WORDS["name"], _WORDS["parameter"]
    exchanges = [
        _numbered(shape, (name, {key: word}), result, n)
        for n, (word, result) in enumerate(zip(words, results, strict=True))
    ]
    if what.kind == "calls":
        turn = exchanges[0][0] | {"tool_calls": [call for asked, _ in exchanges for call in asked["tool_calls"]]}
        spoken = [turn, *(result for _, result in exchanges)]
    else:
        spoken = [message for exchange in exchanges for message in exchange]
    return BranchConversation([*first, asked, *spoken], tools if shape.tools else None, ())


def _numbered(shape: TurnShape, call: tuple[str, dict[str, str]], result: str, number: int) -> tuple[Message, Message]:
    """A turn with a call, and its result, under an id of nine digits where ids are free."""
    turn, (told,) = calling(shape, [call], first=number), answering(shape, [call], [result], first=number)
    if shape.ids == "nine":
        turn["tool_calls"] = [made | {"id": f"{number + 1:09}"} for made in turn["tool_calls"]]
        told["tool_call_id"] = f"{number + 1:09}"
    return turn, told


def _named(word: str) -> Message:
    return tool_definition(word, "Does it.", {"glub": {"type": PARAMETER_TYPE}}, [])
