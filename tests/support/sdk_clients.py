"""What the protocols' own SDKs make of a response: one function per client, streamed or not.

Each takes the address of a server, the model's name and whether to stream, and returns what an application ends up
with. Shared by the tests of the example server and `benchmarks/clients.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from answer_scenarios import TOOLS, USER, Calls


@dataclass
class ClientResult:
    """What a client ended up with. `calls` are those that an application would execute, `broken` are calls whose
    arguments are not a JSON object: nothing can execute them.
    """

    content: str
    reasoning: str
    calls: Calls
    ended: str
    broken: list[tuple[str, str]] = field(default_factory=list)


def client_result(
    content: str | None, reasoning: str | None, calls: Iterable[tuple[str, Any]], ended: str | None
) -> ClientResult:
    """With arguments as objects, or as the text that a client returns."""
    answer = ClientResult(content or "", reasoning or "", [], ended or "")
    for name, arguments in calls:
        try:
            read = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
        except ValueError:
            answer.broken.append((name, arguments))
        else:
            answer.calls.append((name, read))
    return answer


@cache  # most of its construction time is spent on certificates
def _openai(base: str) -> Any:
    from openai import OpenAI

    return OpenAI(api_key="x", base_url=base + "/v1", max_retries=0)


@cache
def _anthropic(base: str) -> Any:
    from anthropic import Anthropic

    return Anthropic(api_key="x", base_url=base, max_retries=0)


@cache
def _ollama(base: str) -> Any:
    from ollama import Client

    return Client(host=base)


def openai_chat(base: str, name: str, stream: bool) -> ClientResult:
    client = _openai(base)
    if stream:
        with client.chat.completions.stream(model=name, messages=[USER], tools=TOOLS) as events:
            for _ in events:
                pass
            choice = events.current_completion_snapshot.choices[0]
    else:
        choice = client.chat.completions.create(model=name, messages=[USER], tools=TOOLS).choices[0]
    message = choice.message
    calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or []]
    return client_result(message.content, getattr(message, "reasoning_content", None), calls, choice.finish_reason)


def openai_responses(base: str, name: str, stream: bool) -> ClientResult:
    client = _openai(base)
    tools = [{"type": "function", **tool["function"]} for tool in TOOLS]
    if stream:
        with client.responses.stream(model=name, input=USER["content"], tools=tools) as events:
            response = list(events)[-1].response
    else:
        response = client.responses.create(model=name, input=USER["content"], tools=tools)
    if response.error is not None:
        raise RuntimeError(response.error.message)
    items = response.output
    return client_result(
        "".join(part.text for item in items if item.type == "message" for part in item.content),
        "".join(part.text for item in items if item.type == "reasoning" for part in item.summary),
        [(item.name, item.arguments) for item in items if item.type == "function_call"],
        response.status,
    )


def anthropic(base: str, name: str, stream: bool) -> ClientResult:
    client = _anthropic(base)
    tools = [{**tool["function"], "input_schema": tool["function"]["parameters"]} for tool in TOOLS]
    tools = [{key: value for key, value in tool.items() if key != "parameters"} for tool in tools]
    request = {"model": name, "max_tokens": 4096, "messages": [USER], "tools": tools}
    if stream:
        with client.messages.stream(**request) as events:
            message = events.get_final_message()
    else:
        message = client.messages.create(**request)
    blocks = message.content
    return client_result(
        "".join(block.text for block in blocks if block.type == "text"),
        "".join(block.thinking for block in blocks if block.type == "thinking"),
        [(block.name, block.input) for block in blocks if block.type == "tool_use"],
        message.stop_reason,
    )


def ollama(base: str, name: str, stream: bool) -> ClientResult:
    client = _ollama(base)
    answers = client.chat(model=name, messages=[USER], tools=TOOLS, stream=stream)
    lines = list(answers) if stream else [answers]
    calls = [call.function for line in lines for call in line.message.tool_calls or []]
    return client_result(
        "".join(line.message.content or "" for line in lines),
        "".join(line.message.thinking or "" for line in lines),
        [(call.name, call.arguments) for call in calls],
        lines[-1].done_reason,
    )


Client = Callable[[str, str, bool], ClientResult]
CLIENTS: dict[str, tuple[Client, dict[str, str]]] = {
    # with the end of its response: by itself, with calls, truncated
    "openai chat": (openai_chat, {"stop": "stop", "calls": "tool_calls", "length": "length"}),
    "openai responses": (openai_responses, {"stop": "completed", "calls": "completed", "length": "incomplete"}),
    "anthropic": (anthropic, {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens"}),
    "ollama": (ollama, {"stop": "stop", "calls": "stop", "length": "length"}),
}
