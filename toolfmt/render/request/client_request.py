"""A request as clients send it to a server: its conversation, the system text first, and its tools.

Servers call it before they render (`Model.render` reads the messages' own shapes), and so does `toolfmt render
--request`. Whatever a request cannot be is a `ToolfmtError` of one line. Sources of the keys: OpenAI's Chat Completions
(`messages`, `tools`, the older `functions`) and Responses (`input`, `instructions`), Anthropic's Messages (`system`),
Ollama's `/api/chat` (`messages`, `tools`). What steers sampling has no part in a prompt and is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolfmt.errors import ToolfmtError
from toolfmt.messages.tools import kind_of

_HELD_BY_THE_SERVER = ("previous_response_id", "conversation")
"""What names turns that the request itself does not hold."""
_SYSTEM_TEXTS = ("system", "instructions")


@dataclass(frozen=True)
class ClientRequest:
    """What is to be rendered: `messages` and `tools` in the client's shapes, not checked yet.

    With `begins_with_system` the conversation begins with the request's own system text, a message for each key that
    holds one (`system`, `instructions`), and the client's first message stands behind.
    """

    messages: Any
    tools: Any = None
    begins_with_system: bool = False


def read_request(request: object, name: str = "the request") -> ClientRequest:
    """The conversation and the tools of a request in any of the protocols; `name` is what errors call it.

    Raises `ToolfmtError` for what is no such request, and for one whose turns only its server holds.
    """
    if not isinstance(request, Mapping):
        raise ToolfmtError(f'{name}: a request is an object with "messages", not {kind_of(request)}')
    held = next((key for key in _HELD_BY_THE_SERVER if request.get(key) is not None), None)
    if held is not None:
        raise ToolfmtError(f'{name}: "{held}" names turns that only its server holds; give them all in "input"')
    first = [
        {"role": "system", "content": _system(request[key], f'{name}: "{key}"')}
        for key in _SYSTEM_TEXTS
        if request.get(key) is not None
    ]
    messages = _messages(request, name)
    tools = request.get("tools")
    tools = request.get("functions") if tools is None else tools
    if first and isinstance(messages, list):
        return ClientRequest([*first, *messages], tools, True)
    return ClientRequest(messages, tools)


def _messages(request: Mapping[str, Any], name: str) -> Any:
    given = [key for key in ("messages", "input") if request.get(key) is not None]
    if len(given) != 1:
        what = 'both "messages" and "input"' if given else 'no "messages" and no "input"'
        raise ToolfmtError(f"{name}: {what}; give one of them")
    messages = request[given[0]]
    if given == ["input"] and isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    return messages


def _system(system: Any, where: str) -> Any:
    """The text of a system prompt, a string or a list of text parts; several stay parts."""
    if not isinstance(system, (str, list)):
        raise ToolfmtError(f"{where} must be a string or a list of text parts, not {kind_of(system)}")
    alone = system[0] if isinstance(system, list) and len(system) == 1 else None
    is_text = isinstance(alone, dict) and alone.get("type") == "text" and isinstance(alone.get("text"), str)
    return alone["text"] if alone is not None and is_text else system
