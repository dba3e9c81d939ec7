"""Messages, tools and templates for tests of prompts."""

from __future__ import annotations

from typing import Any

USER = {"role": "user", "content": "Will it rain?"}

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather at a place.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    },
}

ARGUMENTS = {"place": "Oslo"}

TURN = "{%- for m in messages %}{{ '<|' + m.role + '|>' + CONTENT }}CALLS{{ '<|end|>' }}{%- endfor %}"

GENERATION = "{{ '<|assistant|>' if add_generation_prompt }}"

TOOLS = "{{ '<|tools|>' + tools | tojson + '<|end|>' if tools }}"

CALLS = (
    "{% for c in m.tool_calls or [] %}"
    """{{ '<tool_call>{"name": "' + c.function.name + '", "arguments": ' + ARGUMENTS + '}</tool_call>' }}{% endfor %}"""
)


def template(
    *, content: str = "(m.content or '')", arguments: str = "c.function.arguments | tojson", tools: str = TOOLS
) -> str:
    """A chat template that renders contents and arguments by these expressions."""
    turn = TURN.replace("CALLS", CALLS.replace("ARGUMENTS", arguments)).replace("CONTENT", content)
    return tools + turn + GENERATION


DROPS_TOOLS = TURN.replace("CALLS", "").replace("CONTENT", "(m.content or '')") + GENERATION


def call(*, arguments: Any = ARGUMENTS, name: str = "get_weather", id: str = "callA0001") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
