"""Convert content parts from client formats to what a chat message can contain.

`toolfmt.render.request.client_messages` calls `sorted_parts`. A malformed part raises `BadMessages` with a one-line
message that names its position. A part of unknown type stays unchanged. Sources of the formats, as of August 2026:

- OpenAI, Chat Completions, `ChatCompletionContentPartParam` and `ChatCompletionContentPartRefusalParam` of the package
  openai 3.54: `text`, `refusal`, `image_url`, `input_audio`, `file`.
- OpenAI, Responses, `ResponseInputItemParam`: `input_text`, `input_image`, `output_text`, `refusal`.
- Anthropic, Messages, `ContentBlockParam` of the repository anthropics/anthropic-sdk-python: `text`, `thinking`,
  `redacted_thinking`, `tool_use`, `tool_result`, `document`, `search_result`, and what a server ran by itself.
- Mistral, Chat Completion, `ThinkChunk`: `thinking` holds a list of text parts; a system prompt can hold one, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolfmt._util.json_values import why_no_json
from toolfmt.errors import BadMessages, json_fault
from toolfmt.messages.tools import kind_of

_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
_OF_THE_WIRE = ("cache_control", "prompt_cache_breakpoint")
"""Keys for a server's cache, which mean nothing to a model."""


@dataclass(slots=True)
class SortedParts:
    """A sorted content: the parts that stay content, and the parts that belong elsewhere."""

    kept: list[Any] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    results: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    as_given: bool = True
    """Whether all parts are valid in a chat message."""

    @property
    def content(self) -> Any:
        """The content without other parts, as a string if a chat message would have a string."""
        return self.kept if self.as_given else content_of(self.kept)


def content_of(parts: list[Any]) -> Any:
    """Return parts as a content: None if empty, a string if there is only one text part."""
    alone = parts[0] if len(parts) == 1 else {}
    return alone["text"] if alone.get("type") == "text" else parts or None


def parts_of(content: Any) -> list[Any]:
    """Return a content as a list of parts."""
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []


def sorted_parts(parts: list[Any], role: str, where: str) -> SortedParts:
    """Sort the content parts of a message with this role. `where` is its name in errors. Raises `BadMessages`."""
    found = SortedParts()
    for position, part in enumerate(parts):
        _sort(part, role, f"{where}[{position}]", found)
    return found


def as_mapping(value: Any) -> Any:
    """Return an object with `model_dump` (pydantic) or `to_dict` (`Message`) as a mapping; other values unchanged."""
    if isinstance(value, (dict, list, str, Mapping, type)):
        return value
    dump = getattr(value, "model_dump", None) or getattr(value, "to_dict", None)
    return dump() if callable(dump) else value


def without_nones(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if value is not None}


def function_of(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the object that holds the name and the arguments of a call, whether or not it is wrapped in `function`."""
    function = call.get("function")
    return function if isinstance(function, Mapping) else call


def called(name: Any, arguments: Any, id: Any, where: str) -> dict[str, Any]:
    """Return a call in the Chat Completions format. Raises `BadMessages`."""
    function = {"name": name} | ({} if arguments is None else {"arguments": arguments})
    check_function(function, where)
    return ({} if id is None else {"id": id}) | {"type": "function", "function": function}


def check_function(function: Mapping[str, Any], where: str) -> None:
    """Raise `BadMessages` if a call has no name or its arguments have an invalid type."""
    if not isinstance(function.get("name"), str) or not function["name"]:
        raise BadMessages(f'{where}: the call has no "name"; a name is a string that is not empty')
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, (str, Mapping)):
        raise BadMessages(f'{where}: "arguments" must be an object or a string of JSON, not {kind_of(arguments)}')
    if not isinstance(arguments, str):
        check_json(arguments, where)


def check_json(arguments: object, where: str) -> None:
    """Raise `BadMessages` if arguments contain a value that JSON cannot represent; a template would write anything."""
    try:
        why = why_no_json(arguments) or (json.dumps(arguments, allow_nan=False, default=_as_dictionary) and "")
    except (TypeError, ValueError, RecursionError) as error:
        why = json_fault(error)
    if why:
        raise BadMessages(f"{where}: the arguments cannot be written as JSON ({why}); give what JSON holds")


def _as_dictionary(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def text_under(key: str, mapping: Mapping[str, Any], where: str) -> str:
    text = mapping.get(key)
    if not isinstance(text, str):
        raise BadMessages(f'{where}: "{key}" must be a string, not {kind_of(text)}')
    return text


def texts_of(parts: Iterable[Any], where: str, between: str) -> str:
    """Return the joined texts of parts that contain only text."""
    mappings = [as_mapping(part) for part in parts]
    unlike = [part for part in mappings if not isinstance(part, Mapping)]
    if unlike:
        raise BadMessages(f"{where}: a part must be an object with text, not {kind_of(unlike[0])}")
    return between.join(text_under("text", part, where) for part in mappings)


def result_content(content: Any, where: str) -> Any:
    """Return a tool's result as the content of a tool message: a string, or parts if it is more than one text."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, (list, tuple)):
        raise BadMessages(f"{where} must be a string or a list of parts, not {kind_of(content)}")
    return content_of(sorted_parts(list(content), "tool", where).kept) or ""


# --- one part


def _sort(given: Any, role: str, where: str, found: SortedParts) -> None:
    part = as_mapping(given)
    if isinstance(part, str):
        part = {"type": "text", "text": part}
    if not isinstance(part, Mapping):
        raise BadMessages(f"{where}: a part must be an object or a string, not {kind_of(part)}")
    part = {key: value for key, value in without_nones(part).items() if key not in _OF_THE_WIRE}
    if part.keys() == {"text"}:
        part = {"type": "text"} | part
    kind = part.get("type")
    sort = _SORTED.get(kind) if isinstance(kind, str) else None
    if sort is not None:
        sort(part, role, where, found)
    elif isinstance(kind, str) and (kind in ("server_tool_use", "mcp_tool_use") or kind.endswith("_tool_result")):
        raise BadMessages(f"{where}: a part of type {kind[:40]!r} is a tool that a server ran by itself; leave it out")
    else:
        found.kept.append(part)


def _text(part: dict[str, Any], role: str, where: str, found: SortedParts) -> None:
    text = text_under("text", part, where)
    if part["type"] == "text":
        found.kept.append(part)
    else:
        _keep_text(text, found)


def _refusal(part: dict[str, Any], role: str, where: str, found: SortedParts) -> None:
    _keep_text(text_under("refusal", part, where), found)


def _keep_text(text: str, found: SortedParts) -> None:
    found.kept.append({"type": "text", "text": text})
    found.as_given = False


def _thinking(part: dict[str, Any], role: str, where: str, found: SortedParts) -> None:
    if role != "assistant":  # the system prompt of Mistral's models shows how to think
        found.kept.append(part)
        return
    found.as_given = False
    thinking = part.get("thinking")
    if isinstance(thinking, (list, tuple)):
        thinking = texts_of(thinking, f"{where}.thinking", "")
    text = text_under("thinking", {"thinking": thinking}, where)
    if text:
        found.reasoning.append(text)


def _redacted(part: dict[str, Any], role: str, where: str, found: SortedParts) -> None:
    """Skip a part that only the server that made it can read."""
    _only_in("assistant", part, role, where)
    found.as_given = False


def _call(part: dict[str, Any], role: str, where: str, found: SortedParts) -> None:
    _only_in("assistant", part, role, where)
    found.as_given = False
    found.calls.append(called(part.get("name"), part.get("input", {}), text_under("id", part, where), where))


def _result(part: dict[str, Any], role: str, where: str, found: SortedParts) -> None:
    _only_in("user", part, role, where)
    found.as_given = False
    content = result_content(part.get("content"), f"{where}.content")
    if part.get("is_error") is True:
        content = _as_error(content)
    id = text_under("tool_use_id", part, where)
    found.results.append((where, {"role": "tool", "tool_call_id": id, "content": content}))


def _as_error(content: Any) -> Any:
    """Return the content of a failed result. Chat messages cannot mark errors, so the text does."""
    first, *rest = parts_of(content) or [{"type": "text", "text": "the tool failed"}]
    if first.get("type") != "text":
        return [{"type": "text", "text": "Error:"}, first, *rest]
    if not first["text"].lstrip().lower().startswith("error"):
        first = {**first, "text": f"Error: {first['text']}"}
    return content_of([first, *rest])


def _image(part: dict[str, Any], role: str, where: str, found: SortedParts) -> None:
    url = part.get("image_url")
    found.kept.append({"type": "image_url", "image_url": {"url": url}} if isinstance(url, str) else part)


def _document(part: dict[str, Any], role: str, where: str, found: SortedParts) -> None:
    source = part.get("source")
    if not isinstance(source, Mapping):  # a format that only a certain template supports
        found.kept.append(part)
        return
    if source.get("type") == "text":
        text = text_under("data", source, f"{where}.source")
    elif source.get("type") == "content":
        text = _texts(source.get("content"), role, f"{where}.source.content")
    else:
        raise BadMessages(f"{where}: this document is not text; pass its text, or leave it out")
    title = part.get("title")
    _keep_text(f"{title}\n{text}" if isinstance(title, str) and title else text, found)


def _search_result(part: dict[str, Any], role: str, where: str, found: SortedParts) -> None:
    text = _texts(part.get("content"), role, f"{where}.content")
    head = [text_under(key, part, where) for key in ("title", "source")]
    _keep_text("\n".join([*head, text]), found)


def _texts(content: Any, role: str, where: str) -> str:
    """Return the text of a content that may contain only text."""
    return texts_of(parts_of(result_content(content, where)), where, "\n")


def _only_in(expected: str, part: dict[str, Any], role: str, where: str) -> None:
    if role != expected:
        raise BadMessages(
            f"{where}: a part of type {part['type']!r} can only be in a message of the role {expected}, not {role[:40]}"
        )


_SORTED: dict[str, Callable[[dict[str, Any], str, str, SortedParts], None]] = {
    **dict.fromkeys(_TEXTS, _text),
    "refusal": _refusal,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
    "tool_result": _result,
    "input_image": _image,
    "document": _document,
    "search_result": _search_result,
}
