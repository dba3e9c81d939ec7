"""Adaptations that are tried if a template rejects a conversation or loses part of it.

`toolfmt.render.attempts` tries them alone and combined, the cheapest first, and uses the first plan that delivers
everything. Each has a stable name, which the prompt lists, and a cost: how far it changes the conversation.
`toolfmt.render.adapt.adaptations` lists the names.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from toolfmt.render.request.messages import (
    INSTRUCTING,
    REASONING_NAMES,
    Message,
    calls_of,
    first_turn,
    flattened,
    function_of,
    joined,
    reasoning_of,
    without_reasoning,
)

CALLS_AS_CONTENT = "calls-as-content"
CALLS_WITH_TEXT_AS_CONTENT = "calls-with-text-as-content"
"""Applies only to turns that also have text. The prompt lists it as `calls-as-content`."""
CONTENT_AS_PARTS = "content-as-parts"
PARALLEL_SPLIT = "parallel-calls-split"
RESULTS_AS_USER = "results-as-user-messages"
SYSTEM_IN_USER = "system-in-first-user-message"

PART_PRINTED = "Xq5part"
"""Shows up in the prompt if a template prints a part instead of its text. Templates do not contain it."""

_ONE_OF = (
    frozenset(["text-as-reasoning", "text-before-call", CALLS_WITH_TEXT_AS_CONTENT]),
    frozenset([CALLS_WITH_TEXT_AS_CONTENT, CALLS_AS_CONTENT]),
)
"""Remedies that exclude each other: after the first one, the others have nothing to do."""
_MOST_TOGETHER = 5
_RESULTS_WITH_CALLS = 12
"""Cost of results as user messages if their calls are content too."""


@dataclass(frozen=True)
class Remedy:
    """A remedy. `apply` returns the changed messages, or the same objects if there is nothing to do.

    If `stage` is `adapt`, `toolfmt.render.adapt.adaptations.adapt` makes the change, and `apply` only shows whether
    there is something to do.
    """

    name: str
    cost: int
    stage: Literal["before", "adapt", "after"]
    apply: Callable[[list[Message]], list[Message]]


def plans(
    messages: list[Message], most: int, without: Collection[str] = (), *, calls_in_words: bool = False
) -> Iterator[frozenset[str]]:
    """Return at most `most` sets of remedies, the cheapest first, without those in `without`.

    With `calls_in_words`, calls are written into the content with every plan.
    """
    useful = [
        remedy
        for remedy in REMEDIES
        if remedy.name not in without and (remedy.stage == "after" or remedy.apply(messages) != messages)
    ]
    every = (
        together
        for size in range(1, min(len(useful), _MOST_TOGETHER) + 1)
        for together in itertools.combinations(useful, size)
        if not any(len(one_of.intersection(remedy.name for remedy in together)) > 1 for one_of in _ONE_OF)
    )
    ranked = sorted(every, key=lambda together: (_cost(together, calls_in_words), len(together)))
    return (frozenset(remedy.name for remedy in together) for together in ranked[:most])


def _cost(together: Sequence[Remedy], calls_in_words: bool) -> int:
    calls_in_words = calls_in_words or any(remedy.name == CALLS_AS_CONTENT for remedy in together)
    return sum(
        _RESULTS_WITH_CALLS if calls_in_words and remedy.name == RESULTS_AS_USER else remedy.cost for remedy in together
    )


def applied(
    messages: list[Message], plan: frozenset[str], stage: Literal["before", "after"]
) -> tuple[list[Message], list[str]]:
    """Return the messages after the plan's remedies of this stage, and the names of those that changed something."""
    names = []
    for remedy in REMEDIES:
        if remedy.stage == stage and remedy.name in plan:
            changed = remedy.apply(messages)
            if changed != messages:
                names.append(remedy.name)
                messages = changed
    return messages, names


# --- system messages


def _developer_as_system(messages: list[Message]) -> list[Message]:
    return [message | {"role": "system"} if message["role"] == "developer" else message for message in messages]


def _systems_joined(messages: list[Message]) -> list[Message]:
    """Join adjacent messages of the roles system and developer into one system message."""

    def together(one: Message, other: Message) -> bool:
        return one["role"] in INSTRUCTING and other["role"] in INSTRUCTING

    joined_ones = _neighbours_joined(messages, together)
    before = {id(message) for message in messages}
    return [message if id(message) in before else message | {"role": "system"} for message in joined_ones]


def _later_system_in_user(messages: list[Message]) -> list[Message]:
    """Move system messages after the first turn to the beginning of the next user message, or make them a new one."""
    begin = first_turn(messages)
    moved, waiting = messages[:begin], None
    for message in messages[begin:]:
        if message["role"] in INSTRUCTING:
            waiting = joined(waiting, message.get("content"), "\n\n")
        elif waiting is not None and message["role"] == "user":
            moved.append(message | {"content": joined(waiting, message.get("content"), "\n\n")})
            waiting = None
        else:
            if waiting is not None:
                moved.append({"role": "user", "content": waiting})
                waiting = None
            moved.append(message)
    return moved if waiting is None else [*moved, {"role": "user", "content": waiting}]


# --- turns


def _roles_joined(messages: list[Message]) -> list[Message]:
    """Join adjacent user messages, and adjacent assistant messages."""

    def together(one: Message, other: Message) -> bool:
        return one["role"] == other["role"] and one["role"] in ("user", "assistant") and not calls_of(one)

    return _neighbours_joined(messages, together)


def _neighbours_joined(messages: list[Message], together: Callable[[Message, Message], bool]) -> list[Message]:
    made: list[Message] = []
    for message in messages:
        if made and together(made[-1], message):
            made[-1] = _joined(made[-1], message)
        else:
            made.append(message)
    return made


def _joined(one: Message, other: Message) -> Message:
    merged = one | other
    merged["content"] = joined(one.get("content"), other.get("content"), "\n\n")
    for name in REASONING_NAMES:
        if one.get(name) or other.get(name):
            merged[name] = joined(one.get(name), other.get(name), "\n\n")
    return merged


def _answer_added(messages: list[Message]) -> list[Message]:
    """Insert an empty assistant message between a result and a user message right after it."""
    made: list[Message] = []
    for message in messages:
        if made and made[-1]["role"] == "tool" and message["role"] == "user":
            made.append({"role": "assistant", "content": ""})
        made.append(message)
    return made


def _question_added(messages: list[Message]) -> list[Message]:
    """Insert an empty user message before a first assistant message, or after a conversation of only a system
    message.
    """
    begin = first_turn(messages)
    if begin < len(messages) and messages[begin]["role"] == "user":
        return messages
    return [*messages[:begin], {"role": "user", "content": ""}, *messages[begin:]]


def _user_message_between(messages: list[Message]) -> list[Message]:
    """Insert an empty user message after a tool result, between two assistant texts."""
    made: list[Message] = []
    has_text = called = False
    for message in messages:
        if message["role"] == "assistant":
            if has_text and called and not calls_of(message):
                made.append({"role": "user", "content": ""})
                has_text = called = False
            has_text = has_text or bool(message.get("content"))
            called = called or bool(calls_of(message))
        elif message["role"] != "tool":
            has_text = called = False
        made.append(message)
    return made


# --- a turn with calls


def _text_as_reasoning(messages: list[Message]) -> list[Message]:
    """Append the text next to a call to the reasoning."""
    made = []
    for message in messages:
        text = text_with_calls(message)
        if text:
            thought = joined(reasoning_of(message), text, "\n\n")
            message = without_reasoning(message) | {"content": "", "reasoning_content": thought}
        made.append(message)
    return made


def _text_before_call(messages: list[Message]) -> list[Message]:
    """Move the text next to a call to a turn of its own before it."""
    made: list[Message] = []
    for message in messages:
        text = text_with_calls(message)
        if text:
            made.append({key: value for key, value in message.items() if key != "tool_calls"})
            message = without_reasoning(message) | {"content": ""}
        made.append(message)
    return made


def text_with_calls(message: Message) -> str:
    """Return the text of a turn with calls."""
    text = flattened(message.get("content")) if calls_of(message) else ""
    return text if isinstance(text, str) and text.strip() else ""


def _reasoning_in_content(messages: list[Message]) -> list[Message]:
    """Put reasoning at the beginning of the content, between the markers that most templates recognize there."""
    made = []
    for message in messages:
        thought = reasoning_of(message)
        content = flattened(message.get("content"))
        if message["role"] == "assistant" and isinstance(thought, str) and not isinstance(content, list):
            message = without_reasoning(message)
            message["content"] = f"<think>\n{thought.strip()}\n</think>\n\n{content or ''}"
        made.append(message)
    return made


def _reasoning_empty(messages: list[Message]) -> list[Message]:
    """Add empty reasoning to assistant messages without reasoning."""
    return [
        message | {"reasoning_content": ""}
        if message["role"] == "assistant" and not any(name in message for name in REASONING_NAMES)
        else message
        for message in messages
    ]


def _parts_joined(messages: list[Message]) -> list[Message]:
    """Join contents that consist only of text parts."""
    made = []
    for message in messages:
        text = flattened(message.get("content"))
        made.append(message | {"content": text} if isinstance(text, str) else message)
    return made


def _as_parts(messages: list[Message]) -> list[Message]:
    """Turn string contents into lists of one part."""
    return [
        message | {"content": [{"type": "text", "text": message["content"]}]}
        if isinstance(message.get("content"), str)
        else message
        for message in messages
    ]


def with_marked_parts(messages: Sequence[Message]) -> list[Message]:
    """Add a key to each part that `content-as-parts` makes. `PART_PRINTED` is in the prompt if a template prints it."""
    marked = []
    for message in messages:
        match message.get("content"):
            case [{"type": "text", "text": str(text)}]:
                message = message | {"content": [{"type": "text", "text": text, PART_PRINTED: ""}]}
        marked.append(message)
    return marked


def _content_empty(messages: list[Message]) -> list[Message]:
    """Set the content of turns without content to an empty string."""
    return [message if message.get("content") is not None else message | {"content": ""} for message in messages]


# --- ids and names


def results_named(messages: list[Message]) -> list[Message]:
    """Add the tool's name to each result without one: that of the last call with its id, or of the next open call."""
    names = tools_answered(messages)
    return [
        {**message, "name": name} if name and not message.get("name") else message
        for message, name in zip(messages, names, strict=True)
    ]


def tools_answered(messages: Sequence[Message]) -> list[str | None]:
    """Return the tool's name for each result, and None for other messages or if the name is unknown.

    The name comes from the result itself or from the call with its id: a call in the previous turn that has no result
    yet, else the last such call. Without an id, it comes from the next call without a result.
    """
    called: dict[str, str] = {}
    unanswered: list[tuple[str, str]] = []
    names: list[str | None] = []
    for message in messages:
        name = None
        if calls_of(message):
            unanswered = [(str(call.get("id") or ""), function_of(call)["name"]) for call in calls_of(message)]
            called |= {id: tool for id, tool in unanswered if id}
        elif message["role"] == "tool":
            id, own = str(message.get("tool_call_id") or ""), message.get("name")
            fitting = [one for one in unanswered if (one[0] == id if id else own in (None, "", one[1]))]
            name = own or (fitting[0][1] if fitting else called.get(id))
            if fitting:
                unanswered.remove(fitting[0])
        names.append(name)
    return names


def ids_shortened(messages: list[Message]) -> list[Message]:
    """Replace ids with numbered ones of nine characters, as Mistral's templates require."""
    calls = [call for turn in messages for call in calls_of(turn)]
    return counted(messages, [f"call{number:05}" for number in range(len(calls))])


def counted(messages: Sequence[Message], new_ids: Sequence[str]) -> list[Message]:
    """Set these ids on the calls, in order. A result gets the new id of its call, or of the next call if it has
    none.
    """
    ids = iter(new_ids)
    current: dict[str, str] = {}
    unanswered: list[tuple[str, str]] = []
    made = []
    for message in messages:
        if calls_of(message):
            calls = [{**call, "id": next(ids)} for call in calls_of(message)]
            unanswered = [
                (str(old.get("id") or ""), call["id"]) for old, call in zip(calls_of(message), calls, strict=True)
            ]
            current |= {old: new for old, new in unanswered if old}
            message = {**message, "tool_calls": calls}
        elif message["role"] == "tool":
            old = str(message.get("tool_call_id") or "")
            fitting = next((one for one in unanswered if not old or one[0] == old), None)
            new = fitting[1] if fitting else current.get(old)
            if new is not None:
                message = {**message, "tool_call_id": new}
            if fitting:
                unanswered.remove(fitting)
        made.append(message)
    return made


# --- executed by `adapt`


def _has(what: Callable[[Message], Any]) -> Callable[[list[Message]], list[Message]]:
    """Return a function that changes the messages if any of them matches, to show that there is something to do."""
    return lambda messages: [] if any(map(what, messages)) else messages


REMEDIES: tuple[Remedy, ...] = (
    Remedy("developer-as-system", 10, "before", _developer_as_system),
    Remedy("system-messages-joined", 10, "before", _systems_joined),
    Remedy("later-system-in-user-message", 10, "before", _later_system_in_user),
    Remedy("content-null-to-empty", 10, "before", _content_empty),
    Remedy("content-parts-joined", 10, "before", _parts_joined),
    Remedy("reasoning-in-content", 26, "before", _reasoning_in_content),
    Remedy("text-as-reasoning", 22, "before", _text_as_reasoning),
    Remedy("text-before-call", 24, "before", _text_before_call),
    Remedy("empty-reasoning-added", 30, "before", _reasoning_empty),
    Remedy("empty-question-added", 30, "before", _question_added),
    Remedy("empty-answer-added", 30, "before", _answer_added),
    Remedy("empty-user-message-between", 30, "before", _user_message_between),
    Remedy(CALLS_WITH_TEXT_AS_CONTENT, 21, "adapt", _has(text_with_calls)),
    Remedy(PARALLEL_SPLIT, 20, "adapt", _has(lambda message: len(calls_of(message)) > 1)),
    Remedy(SYSTEM_IN_USER, 20, "adapt", _has(lambda message: message["role"] in INSTRUCTING)),
    Remedy(CALLS_AS_CONTENT, 45, "adapt", _has(calls_of)),
    Remedy(RESULTS_AS_USER, 40, "adapt", _has(lambda message: message["role"] == "tool")),
    Remedy("roles-joined", 10, "after", _roles_joined),
    Remedy(CONTENT_AS_PARTS, 15, "after", _as_parts),
    Remedy("results-named", 10, "after", results_named),
    Remedy("ids-shortened", 10, "after", ids_shortened),
)
"""In the order in which they are applied."""


@lru_cache(maxsize=1)
def tried_in_adapt() -> frozenset[str]:
    """Names of the remedies that `adapt` executes."""
    return frozenset(remedy.name for remedy in REMEDIES if remedy.stage == "adapt")
