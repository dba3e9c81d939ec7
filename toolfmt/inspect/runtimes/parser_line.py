"""The line of Python that makes toolfmt's parser for a model's answers, as it is typed: advice and findings name it.

A model whose prompt begins a reasoning block writes no opener: a parser that was not told of it takes the reasoning for
content and the drafts of calls in it for calls. So the line has what the prompt began, or has the model say it; and
what ends an answer, which is no content where special tokens are decoded.
"""

from __future__ import annotations

import json

from toolfmt.formats import ToolCallFormat
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.growing_prompts import starts_vary
from toolfmt.templates import is_template

_FROM_FILE = 'toolfmt.format_from_file("derived.json")'
"""What `toolfmt dev derive` has printed."""


def our_parser(facts: Facts, format: ToolCallFormat) -> str:
    """The line for this model: of its place, as it was given, where there is one and the model's format is meant; else
    of the format, of what the prompt has begun of the answer and of what ends it. Of a template alone the place is told
    where tools go in as words, since it is the tools' names then that tell what ends an answer, and where the format
    was derived, since nobody has its file yet.
    """
    prose = facts.profile.strategy == "prompt"
    derived = facts.decided.decision.derived is not None
    varies = starts_vary(facts.sections.response_starts)
    placed = has_place(facts) and (prose or derived or varies or facts.files.kind != "template")
    if placed and facts.decided.decision.name == format.name:
        # The rendered prompt knows what the response starts with, in every turn.
        rendered = ".render(messages, tools=tools).parser()" if varies else ".parser(tools=tools)"
        return f"toolfmt.load({python_text(str(facts.files.directory))}){rendered}"
    begun = facts.profile.prefill
    ends = [python_text(mark) for mark in facts.profile.stop if not format.in_calls(mark)]
    prefix = f", prefix={python_text(begun)}" if begun else ""
    stop = f", stop=[{', '.join(ends)}]" if ends else ""
    named = _FROM_FILE if derived else f'"{format.name}"'
    return f"toolfmt.Parser({named}, tools=tools{prefix}{stop})"


def has_place(facts: Facts) -> bool:
    """Whether the model, or its template alone, was read from a place, and is no text that only has a name."""
    return facts.files.kind != "template" or is_template(facts.files.directory)


def python_text(text: str) -> str:
    """The text as a literal of Python, which for any text a literal of JSON is; nothing in it is unseen."""
    told = json.dumps(text, ensure_ascii=False)
    return told if told[1:-1].isprintable() else json.dumps(text)
