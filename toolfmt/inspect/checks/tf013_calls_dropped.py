"""The template describes tools, but a call in the history does not reach the prompt.

After the first call the conversation goes on without it: the model sees a result, or an empty turn of its
own, and not what it asked for. It repeats the call, or invents a reason for the result.

What to do: write the call into the content of the assistant turn, in the format that the model speaks;
toolfmt's `render` does so, and `toolfmt.write` gives the text.

Example: a template that prints `message.content` for every role and never reads `message.tool_calls`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report import Severity

SEVERITY: Severity = "error"


def check(facts: Facts) -> Iterator[Found]:
    if not facts.shows_tools or facts.renders_calls:
        return
    answer = facts.capabilities["tool_calls"]
    what = f"refuses calls: {answer.evidence}" if answer.answer == "error" else "drops calls from the history"
    yield Found(
        f"The template describes tools but {what}.",
        "Write past calls into the content of the assistant turn; toolfmt's render does it for you.",
        answer.line,
    )
