"""Read a client's request to a server: its system text, its conversation and its tools.

Servers and `toolfmt render --request` call it before rendering. `Model.render` reads only messages. An invalid request
raises a `ToolfmtError` with a one-line message. Sources of the keys: OpenAI's Chat Completions (`messages`, `tools`,
the older `functions`) and Responses (`input`, `instructions`), Anthropic's Messages (`system`), Ollama's `/api/chat`
(`messages`, `tools`). Sampling parameters do not affect the prompt and are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolfmt.errors import ToolfmtError
from toolfmt.messages.tools import kind_of

_HELD_BY_THE_SERVER = ("previous_response_id", "conversation")
"""Keys that refer to turns that the request does not contain."""
_SYSTEM_TEXTS = ("system", "instructions")


@dataclass(frozen=True)
class ClientRequest:
    """A request to render, not checked yet.

    Attributes:
        messages: The messages in the client's format.
        tools: The tool definitions in the client's format.
        begins_with_system: The conversation begins with the request's own system text: one message for each key that
            has one (`system`, `instructions`). The client's first message follows.
    """

    messages: Any
    tools: Any = None
    begins_with_system: bool = False


def read_request(request: object, name: str = "the request") -> ClientRequest:
    """Return the conversation and the tools of a request in any of the protocols.

    The protocols are OpenAI's Chat Completions and Responses, Anthropic's Messages, and Ollama's `/api/chat`.

    Args:
        request: The body of the request, a mapping.
        name: What error messages call the request.

    Raises:
        ToolfmtError: It is not a request in one of the protocols, or it refers to turns that only its server has.
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
    """Return the system text: a string or, if there are several text parts, the list of parts."""
    if not isinstance(system, (str, list)):
        raise ToolfmtError(f"{where} must be a string or a list of text parts, not {kind_of(system)}")
    alone = system[0] if isinstance(system, list) and len(system) == 1 else None
    is_text = isinstance(alone, dict) and alone.get("type") == "text" and isinstance(alone.get("text"), str)
    return alone["text"] if alone is not None and is_text else system
