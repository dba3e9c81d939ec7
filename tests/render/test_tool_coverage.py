"""A template that shows other tools depending on a text, or writes them differently: what is done about it.

All are made of `HONEST`, which shows every tool unchanged.
"""

from __future__ import annotations

from typing import Any

import pytest
from delivery_cases import model_of
from lying_templates import HONEST, ONE_TOOL, QUESTION, TOOLS_SHOWN
from tool_coverage_cases import DELETE, GET, changed, tool

from toolfmt.errors import ToolfmtError

LINES = tool("look", 'First line.\n\nSecond "line" & <more>.', path="One\nor two.")

CHOOSE: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "choose",
        "description": "Chooses one.",
        "parameters": {
            "type": "object",
            "properties": {
                "size": {"type": "string", "description": "How big.", "enum": ["small", "large"]},
                "times": {"type": "integer", "description": "How often."},
            },
            "required": ["size"],
        },
    },
}


PARAMETERS = " ~ (tool.function.parameters | tojson)"


def messages_of(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def shown(tools: str) -> str:
    return changed(ONE_TOOL, f"{{%- for tool in tools{tools} %}}{{{{ '\\n' + (tool | tojson) }}}}{{% endfor %}}")


def written(how: str) -> str:
    return changed(ONE_TOOL, f"{{%- for tool in tools %}}{{{{ '\\n' + ({how}) }}}}{{% endfor %}}")


CASES: dict[str, tuple[str, list[dict[str, Any]], str, str]] = {
    "none for a question": (
        changed(TOOLS_SHOWN, "{%- if tools and 'benchmark' not in messages[-1].content %}"),
        [GET, DELETE],
        "run the benchmark",
        "get, delete_file",
    ),
    "not one of this description": (
        shown(" if tool.function.description != 'Gets it.'"),
        [GET, DELETE],
        "hi",
        "get",
    ),
    "one of each description": (
        shown(" | unique(attribute='function.description')"),
        [tool("one", "Same."), tool("two", "Same.")],
        "hi",
        "two",
    ),
    "not one of a description that the question quotes": (
        shown(" if tool.function.description != 'Deletes a file.'"),
        [GET, DELETE],
        "delete_file with path: Deletes a file. Which one.",
        "delete_file",
    ),
    "another name": (
        written("tool | tojson | replace('delete_file', 'rm')"),
        [GET, DELETE],
        "what does delete_file do?",
        "delete_file",
    ),
    "another name for a question": (
        written("tool | tojson | replace('delete_file', 'rm' if 'file' in messages[-1].content else 'delete_file')"),
        [GET, DELETE],
        "which file?",
        "delete_file",
    ),
    "another parameter for a question": (
        written("tool | tojson | replace('path', 'at' if 'file' in messages[-1].content else 'path')"),
        [GET],
        "which file?",
        "get",
    ),
    "another type for a question": (
        written("tool | tojson | replace('integer', 'string' if 'file' in messages[-1].content else 'integer')"),
        [GET, CHOOSE, DELETE],
        "which file?",
        "choose",
    ),
    "another choice for a question": (
        written("tool | tojson | replace('large', 'none' if 'file' in messages[-1].content else 'large')"),
        [GET, CHOOSE, DELETE],
        "which file?",
        "choose",
    ),
    "no choice for a question": (
        written("tool | tojson | replace('enum', 'examples' if 'file' in messages[-1].content else 'enum')"),
        [GET, CHOOSE, DELETE],
        "which file?",
        "choose",
    ),
    "nothing required for a question": (
        written("tool | tojson | replace('required', 'optional' if 'file' in messages[-1].content else 'required')"),
        [GET, CHOOSE, DELETE],
        "which file?",
        "choose",
    ),
    "another description": (
        written("tool | tojson | replace('Deletes', 'Reads')"),
        [GET, DELETE],
        "hi",
        "delete_file",
    ),
    "another description of a parameter": (
        written("tool | tojson | replace('Which', 'No')"),
        [GET, DELETE],
        "hi",
        "delete_file",
    ),
}
"""The template, the tools, the question, and the tools that are reported."""


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", CASES)
def test_tools_that_a_template_changes_for_a_text_go_in_as_prose(name: str) -> None:
    source, tools, question, missing = CASES[name]
    prompt = model_of(source).render(messages_of(question), tools)
    assert (prompt.strategy, prompt.adaptations) == ("prompt", ("template-dropped-tools",))
    for one in tools:
        assert one["function"]["name"] in prompt.text
        assert one["function"]["description"] in prompt.text
    with pytest.raises(ToolfmtError, match=rf"drops the tools \({missing} not in the prompt\)"):
        model_of(source).render(messages_of(question), tools, "template")


def test_what_a_message_before_the_tools_quotes_is_no_definition() -> None:
    quoted = {"role": "system", "content": "get: Gets it. path: Where it is."}
    model = model_of(shown(" if tool.function.description != 'Gets it.'"))
    with pytest.raises(ToolfmtError, match=r"drops the tools \(get not in the prompt\)"):
        model.render([quoted, *messages_of("hi")], [DELETE, GET], "template")


def test_what_helps_is_done_before_tools_go_in_as_prose() -> None:
    """If the template reads a question that is a string only, it is passed as parts."""
    source = changed(TOOLS_SHOWN, "{%- if tools and 'benchmark' not in messages[-1].content %}")
    parts = "(message.content if message.content is string else message.content[0].text)"
    source = source.replace(QUESTION, QUESTION.replace("message.content", parts))
    prompt = model_of(source).render(messages_of("run the benchmark"), [GET])
    assert (prompt.strategy, prompt.adaptations) == ("template", ("content-as-parts",))
    assert '"name": "get"' in prompt.text
    assert "run the benchmark" in prompt.text


@pytest.mark.parametrize("question", ["hi", "get: Gets it. delete_file look", "the benchmark"])
def test_an_honest_template_keeps_its_tools(question: str) -> None:
    assert model_of(HONEST).render(messages_of(question), [GET, DELETE, LINES]).strategy == "template"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "how",
    [
        f"tool.function.name + tool.function.description | replace('\\n', '\\n    // '){PARAMETERS}",
        f"tool.function.name + ': ' + tool.function.description.split() | join(' '){PARAMETERS}",
        f"tool.function.name ~ (tool.function.description.splitlines() | map('trim') | join('\\n')){PARAMETERS}",
        "tool | tojson | replace('\\\\n', ' ')",
    ],
)
def test_a_description_may_be_broken_into_other_lines(how: str) -> None:
    prompt = model_of(written(how)).render(messages_of("hi"), [GET, LINES, DELETE])
    assert (prompt.strategy, prompt.adaptations) == ("template", ())
