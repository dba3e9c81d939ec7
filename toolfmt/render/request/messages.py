"""The messages of a request: read and checked, and looked at. Nothing here knows templates or formats.

`toolfmt.render.prompt` calls it. `checked_messages` raises `BadMessages`, one line that names the position; everything
after it can rely on the shapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from toolfmt._util.json_values import DEEPEST, why_no_json
from toolfmt.errors import BadMessages, json_fault
from toolfmt.messages.tools import kind_of
from toolfmt.render.request.client_messages import read_messages
from toolfmt.render.request.client_parts import check_json
from toolfmt.render.request.client_parts import function_of as function_of

Message: TypeAlias = dict[str, Any]
Content: TypeAlias = str | list[Any] | None

_AROUND_ARGUMENTS = 8
"""Levels of a message around the arguments of a call, and more."""
INSTRUCTING = ("system", "developer")
"""The roles that say how to answer."""
REASONING_NAMES = ("reasoning_content", "reasoning", "thinking")
"""The names under which a message holds reasoning."""
RAW_ARGUMENTS = "raw_arguments"
"""The key under which an object holds the text of arguments that are not a JSON object."""


def checked_messages(messages: object, known_roles: Iterable[str] = ()) -> list[Message]:
    """New dictionaries for the messages, in the caller's key order and the shape of OpenAI's Chat Completions.

    Takes a list of messages as clients hold them (`toolfmt.render.request.client_messages` lists the shapes). In what
    comes out
    `role` is system, developer, user, assistant, tool or one of `known_roles` (those that the template itself tests
    for); `content` is a string, a list of parts (objects), null or absent; a call stands under `tool_calls` as
    `{"function": {"name", "arguments"}}` or as the inner object alone, its arguments an object or a string. Raises
    `BadMessages`.
    """
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
        raise BadMessages(f"messages must be a list of objects, not {kind_of(messages)}")
    if not messages:
        raise BadMessages("messages is an empty list; give at least one message")
    read = read_messages(messages, known_roles)
    if not read:
        raise BadMessages("messages contains no text; pass at least one message with text")
    for position, message in enumerate(read):
        if why := why_no_json(message, objects=True, deepest=DEEPEST + _AROUND_ARGUMENTS):
            where = f"messages[{position}] ({message['role'][:40]})"
            raise BadMessages(f"{where}: {why}, which no prompt can hold; give what JSON holds")
    return read


def calls_of(message: Message) -> list[Message]:
    """The calls of a turn; empty where it makes none."""
    return message.get("tool_calls") or []


def arguments_of(call: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The arguments of a call as an object; raises `BadMessages` where their text is not one."""
    arguments = function_of(call).get("arguments")
    if isinstance(arguments, Mapping):
        return dict(arguments)
    try:
        parsed = json.loads(arguments or "{}", parse_constant=_no_constant, object_pairs_hook=_without_repeated_keys)
    except (ValueError, RecursionError) as error:
        why = json_fault(error)
        raise BadMessages(f"{where}: the arguments are not JSON ({why}); give the text of one JSON object") from None
    if not isinstance(parsed, dict):
        raise BadMessages(f"{where}: the arguments are {kind_of(parsed)}; give one JSON object")
    check_json(parsed, where)
    return parsed


def is_object(call: Mapping[str, Any]) -> bool:
    """Whether the arguments of a call are an object, the text of one, or none."""
    try:
        arguments_of(call, "")
    except BadMessages:
        return False
    return True


def names_no_call(messages: Sequence[Message]) -> bool:
    """Whether a result has an id that no call before it has; not one without an id, which goes by its place."""
    called: set[str] = set()
    for message in messages:
        called.update(str(call["id"]) for call in calls_of(message) if call.get("id"))
        id = str(message.get("tool_call_id") or "") if message["role"] == "tool" else ""
        if id and id not in called:
            return True
    return False


def reasoning_of(message: Message) -> Any:
    """The reasoning of a turn, under whichever name it stands; None where it has none."""
    return next((message[name] for name in REASONING_NAMES if message.get(name)), None)


def without_reasoning(message: Message) -> Message:
    """The message without its reasoning."""
    return {key: value for key, value in message.items() if key not in REASONING_NAMES}


def first_turn(messages: Sequence[Message]) -> int:
    """The position behind the instructions that a conversation begins with."""
    return next((at for at, one in enumerate(messages) if one["role"] not in INSTRUCTING), len(messages))


def with_text_arguments(message: Message) -> Message:
    """The message with the arguments of its calls as the text of JSON."""
    calls = []
    for call in calls_of(message):
        function = dict(function_of(call))
        if isinstance(function.get("arguments"), Mapping):
            function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)
        calls.append({**call, "function": function} if "function" in call else {**call, **function})
    return {**message, "tool_calls": calls} if calls else message


def text_of(content: Content) -> str:
    """The text of a content; of a list of parts, that of its text parts."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    return content or ""


def flattened(content: Content) -> Content:
    """The content as one string where all of its parts can be told in words, else as parts with these told in words."""
    if not isinstance(content, list):
        return content
    parts = told_in_words(content)
    if all(_is_text(part) for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def told_in_words(parts: list[Any]) -> list[Any]:
    """The parts of a content, documents and other objects as parts of the text or the JSON that they hold.

    Texts stay as they are, and so do images, sound and files.
    """
    return [part if _is_text(part) or _is_media(part) else {"type": "text", "text": _told(part)} for part in parts]


_MEDIA = ("image", "audio", "video", "file")
_ABOUT_MEDIA = ("type", "detail", "media_type", "mime_type", "format", "text")
_SHORTEST_DATA = 5


def _is_text(part: object) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("text"), str)


def _is_media(part: object) -> bool:
    return isinstance(part, Mapping) and any(kind in str(part.get("type", "")) for kind in _MEDIA)


def media_of(messages: Sequence[Message]) -> list[tuple[Any, str]]:
    """The images and other media of messages, each with what errors call it."""
    return [
        (part, f"messages[{at}] ({message['role']}): its {part.get('type')}")
        for at, message in enumerate(messages)
        if isinstance(message.get("content"), list)
        for part in message["content"]
        if _is_media(part) and not _is_text(part)
    ]


def without_media(message: Message) -> Message:
    """The message without images and other media."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [part for part in content if not _is_media(part) or _is_text(part)]}


def _told(part: object) -> str:
    for key in ("document", "data", "thinking"):
        part = part.get(key, part) if isinstance(part, Mapping) else part
    return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, default=str)


def joined(one: Content, other: Content, between: str) -> Content:
    """Two contents as one: strings with `between` between them, lists of parts with text parts where strings were."""
    if not one or not other:
        return one or other
    if isinstance(one, str) and isinstance(other, str):
        return one + between + other
    first = [{"type": "text", "text": one + between}] if isinstance(one, str) else list(one)
    second = [{"type": "text", "text": between + other}] if isinstance(other, str) else list(other)
    return first + second


def lists_tools(messages: Iterable[Message], tools: Iterable[Message]) -> bool:
    """Whether a system message describes one of the tools: by its name and its description or all its parameters."""
    told = "\n".join(text_of(message.get("content")) for message in messages if message["role"] in INSTRUCTING)
    return bool(told) and any(_describes(told, tool["function"]) for tool in tools)


def _describes(text: str, function: Mapping[str, Any]) -> bool:
    if function["name"] not in text:
        return False
    description = function.get("description")
    if description and (description in text or json.dumps(description, ensure_ascii=False)[1:-1] in text):
        return True
    parameters = function.get("parameters") or {}
    properties = parameters.get("properties")
    names = [re.escape(name) for name in properties] if isinstance(properties, Mapping) else []
    # Only as a key or a parameter is written: `"city"`, `city:`, `city=`, `(city`; the word alone may be anything.
    return bool(names) and all(re.search(rf"[\"'`(,<]\s*{name}\b|\b{name}\s*[:=]", text) for name in names)


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key appears twice")
    return made


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def media_data(part: Any) -> Iterator[str]:
    """Yield the strings in a part that are its data: addresses, and data as text."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            if key not in _ABOUT_MEDIA:
                yield from media_data(value)
    elif isinstance(part, str) and len(part) >= _SHORTEST_DATA:
        yield part
