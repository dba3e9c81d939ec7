"""Convert messages from client formats to OpenAI's Chat Completions format, which templates expect.

`toolfmt.render.request.messages.checked_messages` calls `read_messages`. Each message is a mapping or an object that
can be converted to one (`client_parts.as_mapping`). Unknown keys are kept. Keys whose value is None are removed, except
`content`. An invalid message raises `BadMessages` with a one-line message that names its position. Sources of the
formats, as of August 2026:

- OpenAI, Chat Completions: `ChatCompletionMessageParam` of the package openai 3.54, with its older `function_call`
  (https://platform.openai.com/docs/api-reference/chat/create).
- OpenAI, Responses: `ResponseInputItemParam` of the same package. Consecutive items from the model (reasoning, a
  message, calls) are one turn (https://platform.openai.com/docs/api-reference/responses/create).
- Anthropic, Messages: `MessageParam` of the repository anthropics/anthropic-sdk-python. Results in a user message
  come before its text, and become messages of their own
  (https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls).
- Ollama, `/api/chat`: `Message` of the package ollama 0.6.3. A result has `tool_name` and no id. Calls have no ids
  either, so results match them in order. `images` is next to the text.

Reasoning that only its server can read (`redacted_thinking`, `encrypted_content`) is left out, and so are the
`rejected` calls of a `toolfmt.Message`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from toolfmt.errors import BadMessages
from toolfmt.messages.tools import kind_of
from toolfmt.render.request.client_parts import (
    as_mapping,
    called,
    check_function,
    content_of,
    function_of,
    parts_of,
    result_content,
    sorted_parts,
    text_under,
    texts_of,
    without_nones,
)

ROLES = ("system", "developer", "user", "assistant", "tool")
_FUNCTION = "function"
"""The role of results in the older Chat Completions format."""
_MADE_ID = "function_call_{number}"
"""Ids for calls in the older format, which has none. They differ from all ids that a server or a parser makes."""
_LONGEST_SHOWN = 40
_OF_AN_ANSWER = ("type", "id", "status", "model", "stop_reason", "stop_sequence", "stop_details", "container", "usage")
"""Keys that a server adds to a response and that are not part of the message."""


def read_messages(messages: Sequence[object], known_roles: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return new dictionaries in the Chat Completions format for messages and items in any supported format.

    `known_roles` are roles accepted in addition to those of Chat Completions. Raises `BadMessages`.
    """
    reader = _Reader((*ROLES, *sorted(known_roles)))
    try:
        for position, message in enumerate(messages):
            reader.read(message, f"messages[{position}]")
    except RecursionError:
        raise BadMessages(f"messages[{position}] is nested too deeply; give its text") from None
    return reader.finished()


class _Reader:
    """The messages read so far, and what the next one may belong to."""

    def __init__(self, roles: Sequence[str]) -> None:
        self._roles = roles
        self._messages: list[dict[str, Any]] = []
        self._turn: dict[str, Any] | None = None
        """The turn that further items of the Responses API may extend."""
        self._open_calls: list[dict[str, Any]] = []
        """The calls of the last turn with calls that still have no result in the older format."""
        self._unnamed: list[tuple[dict[str, Any], dict[str, Any] | None]] = []
        """Calls and results without an id, in order; a result with its call."""

    def read(self, given: object, where: str) -> None:
        mapping = as_mapping(given)
        if not isinstance(mapping, Mapping):
            raise BadMessages(f"{where} must be an object, not {kind_of(mapping)}")
        kind = mapping.get("type")
        if isinstance(kind, str) and kind != "message" and ("role" not in mapping or "content" not in mapping):
            if kind not in _ITEMS:
                raise BadMessages(
                    f"{where}: an item of type {kind[:_LONGEST_SHOWN]!r} is not a message; leave it out "
                    f"(supported items: message, {', '.join(_ITEMS)})"
                )
            _ITEMS[kind](self, without_nones(mapping), where)
        else:
            self._read_message(mapping, where)

    def finished(self) -> list[dict[str, Any]]:
        """Return the messages. All calls have an id: their own or a generated one."""
        taken = {str(message.get("tool_call_id")) for message in self._messages}
        taken |= {str(call.get("id")) for message in self._messages for call in message.get("tool_calls") or ()}
        free = (id for number in count() if (id := _MADE_ID.format(number=number)) not in taken)
        for message, answered in self._unnamed:
            if message.get("role") == "tool":
                answers = next(free) if answered is None else answered.get("id")
                message |= {} if answers is None else {"tool_call_id": answers}
            else:
                message["id"] = next(free)
        return self._messages

    # --- messages of Chat Completions and of Anthropic

    def _read_message(self, mapping: Mapping[str, Any], where: str) -> None:
        if "role" not in mapping:
            raise BadMessages(f'{where}: "role" is missing')
        role = mapping["role"]
        if not isinstance(role, str):
            raise BadMessages(f'{where}: "role" must be a string, not {kind_of(role)}')
        if role not in self._roles and role != _FUNCTION:
            known = ", ".join(dict.fromkeys(self._roles))
            raise BadMessages(f"{where}: no role is called {role[:_LONGEST_SHOWN]!r}; roles: {known}")
        message = {key: value for key, value in mapping.items() if value is not None or key == "content"}
        is_item = message.get("type") == "message"
        if is_item:
            message = {key: value for key, value in message.items() if key not in _OF_AN_ANSWER}
        if "reasoning_content" in message:
            text_under("reasoning_content", message, where)
        if role == _FUNCTION:
            self._read_function_result(message, where)
            return
        _read_keys_of_ollama(message, role, where)
        _read_calls(message, self._unnamed, where)
        if role == "assistant":
            _read_refusal(message, where)
            if isinstance(message.get("rejected"), list):
                del message["rejected"]
        if self._read_content(message, role, where):
            self._keep(message, is_item)

    def _read_content(self, message: dict[str, Any], role: str, where: str) -> bool:
        """Sort the content. Return False if the message consisted only of results, which are already added."""
        content = message.get("content")
        if role != "assistant" and "content" not in message:
            raise BadMessages(f'{where}: a message of the role {role} has no "content"')
        if content is None or isinstance(content, str):
            return True
        if not isinstance(content, (list, tuple)):
            raise BadMessages(f'{where}: "content" must be a string, a list of parts or null, not {kind_of(content)}')
        found = sorted_parts(list(content), role, f"{where}.content")
        message["content"] = found.content
        _add_reasoning(message, *found.reasoning)
        if found.calls:
            message["tool_calls"] = [*(message.get("tool_calls") or ()), *found.calls]
        for _, result in found.results:
            self._keep(result)
        return not found.results or bool(found.kept)

    def _keep(self, message: dict[str, Any], is_item: bool = False) -> None:
        """Add a message, or merge it into the turn of the items before it if it continues that turn."""
        by_model = message["role"] == "assistant"
        if by_model and self._turn is not None and (is_item or _is_reasoning_alone(self._turn)):
            _add_message(self._turn, message)
            message = self._turn
        else:
            self._messages.append(message)
        self._turn = message if is_item and by_model else None
        if message.get("tool_calls"):
            self._open_calls = list(message["tool_calls"])

    def _read_function_result(self, message: dict[str, Any], where: str) -> None:
        for key in ("tool_calls", "function_call"):
            if message.pop(key, None):
                raise BadMessages(f'{where}: a message of the role function makes no calls; leave "{key}" out')
        name = text_under("name", message, where)
        content = result_content(message.get("content"), f"{where}.content")
        call = next((call for call in self._open_calls if _name_of(call) == name), None)
        if call is not None:
            self._open_calls = [other for other in self._open_calls if other is not call]
        result = {**message, "role": "tool", "content": content}
        self._unnamed.append((result, call))
        self._keep(result)

    # --- items of the Responses API

    def _read_reasoning(self, mapping: dict[str, Any], where: str) -> None:
        texts = mapping.get("content") or mapping.get("summary") or []
        if not isinstance(texts, (list, tuple)):
            raise BadMessages(f"{where}: the texts of a reasoning must be a list, not {kind_of(texts)}")
        text = texts_of(texts, where, "\n\n")
        if text:
            _add_reasoning(self._going_on(joins_messages=False), text)

    def _read_call(self, mapping: dict[str, Any], where: str) -> None:
        custom = mapping["type"] == "custom_tool_call"
        arguments = {"input": text_under("input", mapping, where)} if custom else mapping.get("arguments")
        call = called(mapping.get("name"), arguments, mapping.get("call_id", mapping.get("id")), where)
        turn = self._going_on(joins_messages=True)
        turn["tool_calls"] = [*turn.get("tool_calls", ()), call]
        self._open_calls = list(turn["tool_calls"])

    def _read_result(self, mapping: dict[str, Any], where: str) -> None:
        content = result_content(mapping.get("output"), f'{where}: "output"')
        result = {
            "role": "tool",
            "tool_call_id": mapping.get("call_id"),
            "name": mapping.get("name"),
            "content": content,
        }
        self._keep(without_nones(result))

    def _going_on(self, *, joins_messages: bool) -> dict[str, Any]:
        """Return the turn that an item belongs to. Calls belong to the assistant message before them, in any format."""
        last = self._messages[-1] if self._messages else {}
        if joins_messages and last.get("role") == "assistant":
            self._turn = last
        if self._turn is None:
            self._turn = {"role": "assistant", "content": None}
            self._messages.append(self._turn)
        return self._turn


_ITEMS: dict[str, Callable[[_Reader, dict[str, Any], str], None]] = {
    "function_call": _Reader._read_call,
    "function_call_output": _Reader._read_result,
    "reasoning": _Reader._read_reasoning,
    "custom_tool_call": _Reader._read_call,
    "custom_tool_call_output": _Reader._read_result,
}


def _read_calls(
    message: dict[str, Any], unnamed: list[tuple[dict[str, Any], dict[str, Any] | None]], where: str
) -> None:
    """Convert the calls of a message in place. A call in the older format is tracked as a call without an id."""
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, (list, tuple)):
        raise BadMessages(f'{where}: "tool_calls" must be a list, not {kind_of(calls)}')
    if calls is not None:
        message["tool_calls"] = [_read_call(call, f"{where}.tool_calls[{at}]") for at, call in enumerate(calls)]
    older = as_mapping(message.pop("function_call", None))
    if older is None:
        return
    if not isinstance(older, Mapping):
        raise BadMessages(f'{where}: "function_call" must be an object, not {kind_of(older)}')
    if calls:
        raise BadMessages(f'{where} has both "tool_calls" and "function_call"; leave the older one out')
    call = called(older.get("name"), older.get("arguments"), "", f"{where}.function_call")
    unnamed.append((call, None))
    message["tool_calls"] = [call]


def _read_call(given: object, where: str) -> dict[str, Any]:
    call = as_mapping(given)
    if not isinstance(call, Mapping):
        raise BadMessages(f"{where} must be an object, not {kind_of(call)}")
    call = without_nones(call)
    custom = as_mapping(call.get("custom"))
    if isinstance(custom, Mapping) and call.get("type") == "custom":
        arguments = {"input": text_under("input", custom, where)}
        return called(custom.get("name"), arguments, call.get("id"), where)
    function = as_mapping(call.get("function"))
    if isinstance(function, Mapping):
        call["function"] = without_nones(function)
    check_function(function_of(call), where)
    return call


def _read_keys_of_ollama(message: dict[str, Any], role: str, where: str) -> None:
    """Convert a result's `tool_name` and the `images` of a message in place."""
    if role == "tool" and "tool_name" in message:
        name = text_under("tool_name", message, where)
        del message["tool_name"]
        message.setdefault("name", name)
    images = message.get("images")
    if isinstance(images, (list, tuple)):
        del message["images"]
        content = message.get("content")
        before = list(content) if isinstance(content, (list, tuple)) else parts_of(content)
        if images:
            message["content"] = [*before, *({"type": "image", "image": image} for image in images)]


def _read_refusal(message: dict[str, Any], where: str) -> None:
    """Convert a refusal of the model to content."""
    if "refusal" in message:
        refusal = text_under("refusal", message, where)
        del message["refusal"]
        if refusal:
            content = message.get("content")
            before = list(content) if isinstance(content, (list, tuple)) else parts_of(content)
            message["content"] = content_of([*before, {"type": "text", "text": refusal}])


def _is_reasoning_alone(turn: Mapping[str, Any]) -> bool:
    return turn.get("content") is None and not turn.get("tool_calls")


def _add_message(turn: dict[str, Any], message: dict[str, Any]) -> None:
    """Merge a message into the turn that it continues."""
    content = [*parts_of(turn.get("content")), *parts_of(message.get("content"))]
    calls = [*(turn.get("tool_calls") or ()), *(message.get("tool_calls") or ())]
    _add_reasoning(turn, *filter(None, [message.get("reasoning_content")]))
    turn |= {key: value for key, value in message.items() if key not in turn}
    turn["content"] = content_of(content)
    if calls:
        turn["tool_calls"] = calls


def _add_reasoning(message: dict[str, Any], *texts: str) -> None:
    before = message.get("reasoning_content")
    if texts:
        message["reasoning_content"] = "\n\n".join([before, *texts] if before else texts)


def _name_of(call: Mapping[str, Any]) -> Any:
    return function_of(call).get("name")
