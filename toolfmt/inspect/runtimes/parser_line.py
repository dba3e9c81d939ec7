"""The line of Python that creates toolfmt's parser for a model's output, as advice and findings show it.

If the prompt opens a reasoning block, the model does not write its start marker. Without this information, a parser
treats the reasoning as content, and tool calls inside it as calls. The line therefore contains what the prompt already
has of the response, or loads the model, which knows it. It also contains what ends a response, since decoded special
tokens would become content.
"""

from __future__ import annotations

import json

from toolfmt.formats import ToolCallFormat
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.growing_prompts import starts_vary
from toolfmt.templates import is_template

_FROM_FILE = 'toolfmt.format_from_file("derived.json")'
"""The file with the output of `toolfmt dev derive`."""


def our_parser(facts: Facts, format: ToolCallFormat) -> str:
    """Return the line for this model.

    It loads the model's path if there is one and the model's format is meant. If not, it has the format, the part of
    the response in the prompt, and what ends the response. The path of a single template is used in these cases: tools
    are described in the system prompt, the format was derived, or the start of a response depends on the turn.
    """
    prose = facts.profile.strategy == "prompt"
    derived = facts.decided.decision.derived is not None
    varies = starts_vary(facts.sections.response_starts)
    placed = has_place(facts) and (prose or derived or varies or facts.files.kind != "template")
    if placed and facts.decided.decision.name == format.name:
        # The rendered prompt knows what the response starts with, in every turn.
        rendered = ".render(messages, tools=tools).parser()" if varies else ".parser(tools=tools)"
        return f"toolfmt.load({python_text(str(facts.files.directory))}){rendered}"
    prefill = facts.profile.prefill
    ends = [python_text(mark) for mark in facts.profile.stop if not format.in_calls(mark)]
    prefix = f", prefix={python_text(prefill)}" if prefill else ""
    stop = f", stop=[{', '.join(ends)}]" if ends else ""
    named = _FROM_FILE if derived else f'"{format.name}"'
    return f"toolfmt.Parser({named}, tools=tools{prefix}{stop})"


def has_place(facts: Facts) -> bool:
    """Return whether the model or template was read from a path, rather than passed as a string."""
    return facts.files.kind != "template" or is_template(facts.files.directory)


def python_text(text: str) -> str:
    """Return the string as a Python literal (JSON literals are valid), with invisible characters escaped."""
    literal = json.dumps(text, ensure_ascii=False)
    return literal if literal[1:-1].isprintable() else json.dumps(text)
