"""Read, check and query the messages of a request, independent of templates and formats.

`toolfmt.render.prompt` calls it. `checked_messages` raises `BadMessages` with a one-line message that names the
position. All other functions rely on checked messages.
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
"""More than the number of nesting levels of a message around the arguments of a call."""
INSTRUCTING = ("system", "developer")
"""Roles for instructions."""
REASONING_NAMES = ("reasoning_content", "reasoning", "thinking")
"""Keys under which a message has reasoning."""
RAW_ARGUMENTS = "raw_arguments"
"""The key for arguments that are not a JSON object, when they must be an object."""


def checked_messages(messages: object, known_roles: Iterable[str] = ()) -> list[Message]:
    """Return new dictionaries in OpenAI's Chat Completions format, with the caller's key order.

    Takes a list of messages in any client format (see `toolfmt.render.request.client_messages`). In the result, `role`
    is system, developer, user, assistant, tool or one of `known_roles` (the roles that the template itself compares
    with). `content` is a string, a list of parts (objects), null or absent. A call is in `tool_calls`, as `{"function":
    {"name", "arguments"}}` or as the inner object alone. Its arguments are an object or a string.

    Raises `BadMessages`.
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


def checked_with_own_roles(messages: object) -> list[Message]:
    """Return what `checked_messages` returns. All roles are accepted if they are strings. Raises `BadMessages`."""
    given = messages if isinstance(messages, (list, tuple)) else ()
    roles = (one.get("role") for one in given if isinstance(one, Mapping))
    return checked_messages(messages, {role for role in roles if role and isinstance(role, str)})


def calls_of(message: Message) -> list[Message]:
    """Return the calls of a turn, empty if there are none."""
    return message.get("tool_calls") or []


def arguments_of(call: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the arguments of a call as an object. Raises `BadMessages` if their text is not an object."""
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
    """Return whether the arguments of a call are an object, the JSON text of one, or missing."""
    try:
        arguments_of(call, "")
    except BadMessages:
        return False
    return True


def names_no_call(messages: Sequence[Message]) -> bool:
    """Return whether a result has an id that no earlier call has. A result without an id matches by position."""
    called: set[str] = set()
    for message in messages:
        called.update(str(call["id"]) for call in calls_of(message) if call.get("id"))
        id = str(message.get("tool_call_id") or "") if message["role"] == "tool" else ""
        if id and id not in called:
            return True
    return False


def reasoning_of(message: Message) -> Any:
    """Return the reasoning of a turn under any of its keys, or None."""
    return next((message[name] for name in REASONING_NAMES if message.get(name)), None)


def without_reasoning(message: Message) -> Message:
    """Return the message without its reasoning."""
    return {key: value for key, value in message.items() if key not in REASONING_NAMES}


def first_turn(messages: Sequence[Message]) -> int:
    """Return the index of the first message after the leading instructions."""
    return next((at for at, one in enumerate(messages) if one["role"] not in INSTRUCTING), len(messages))


def with_text_arguments(message: Message) -> Message:
    """Return the message with the arguments of its calls as JSON strings."""
    calls = []
    for call in calls_of(message):
        function = dict(function_of(call))
        if isinstance(function.get("arguments"), Mapping):
            function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)
        calls.append({**call, "function": function} if "function" in call else {**call, **function})
    return {**message, "tool_calls": calls} if calls else message


def text_of(content: Content) -> str:
    """Return the text of a content. For a list of parts, this is the text of its text parts."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    return content or ""


def flattened(content: Content) -> Content:
    """Return the content as a string if all of its parts have a text form, else as parts with text where possible."""
    if not isinstance(content, list):
        return content
    parts = objects_as_text(content)
    if all(_is_text(part) for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def objects_as_text(parts: list[Any]) -> list[Any]:
    """Return the parts of a content with documents and other objects as text parts of their text or JSON.

    Texts, images, audio and files stay unchanged.
    """
    return [part if _is_text(part) or _is_media(part) else {"type": "text", "text": _part_text(part)} for part in parts]


_MEDIA = ("image", "audio", "video", "file")
_ABOUT_MEDIA = ("type", "detail", "media_type", "mime_type", "format", "text")
_SHORTEST_DATA = 5


def _is_text(part: object) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("text"), str)


def _is_media(part: object) -> bool:
    return isinstance(part, Mapping) and any(kind in str(part.get("type", "")) for kind in _MEDIA)


def media_of(messages: Sequence[Message]) -> list[tuple[Any, str]]:
    """Return the images and other media of messages, each with its name in errors."""
    return [
        (part, f"messages[{at}] ({message['role']}): its {part.get('type')}")
        for at, message in enumerate(messages)
        if isinstance(message.get("content"), list)
        for part in message["content"]
        if _is_media(part) and not _is_text(part)
    ]


def without_media(message: Message) -> Message:
    """Return the message without images and other media."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [part for part in content if not _is_media(part) or _is_text(part)]}


def _part_text(part: object) -> str:
    for key in ("document", "data", "thinking"):
        part = part.get(key, part) if isinstance(part, Mapping) else part
    return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, default=str)


def joined(one: Content, other: Content, between: str) -> Content:
    """Join two contents: strings with `between` between them, lists with strings converted to text parts."""
    if not one or not other:
        return one or other
    if isinstance(one, str) and isinstance(other, str):
        return one + between + other
    first = [{"type": "text", "text": one + between}] if isinstance(one, str) else list(one)
    second = [{"type": "text", "text": between + other}] if isinstance(other, str) else list(other)
    return first + second


def lists_tools(messages: Iterable[Message], tools: Iterable[Message]) -> bool:
    """Return whether a system message describes a tool: its name, and its description or all its parameters."""
    system_text = "\n".join(text_of(message.get("content")) for message in messages if message["role"] in INSTRUCTING)
    return bool(system_text) and any(_describes(system_text, tool["function"]) for tool in tools)


def _describes(text: str, function: Mapping[str, Any]) -> bool:
    if function["name"] not in text:
        return False
    description = function.get("description")
    if description and (description in text or json.dumps(description, ensure_ascii=False)[1:-1] in text):
        return True
    parameters = function.get("parameters") or {}
    properties = parameters.get("properties")
    names = [re.escape(name) for name in properties] if isinstance(properties, Mapping) else []
    # Count a name only if written as a key or parameter: `"city"`, `city:`, `city=`, `(city`.
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
