"""`add_generation_prompt` changes nothing.

Either the template writes the assistant's header behind every conversation: then a conversation that is not to be
answered (for training, or to be continued) ends with an answer that nobody gives. Or it never writes one: then the
program has to, unless the model does so itself: a warning where the template writes one before every answer.

What to do: compare the end of the prompt with the model's page; add the header yourself where it is missing, cut it
off where it is too much. What ends the question, as `[/INST]` does, is not too much.

Example: a template that never reads `add_generation_prompt`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from toolfmt.formats.prefix import answer_prefix
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.capabilities import written_at
from toolfmt.inspect.probe.conversations import FURTHER, REPLY, USER, reply, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.report.wording import quote

SEVERITY: Severity = "note"
FIXED_BY: FixedBy = "template"
_CLOSED = re.compile(r"(?:\[/\w+\]|</[\w|]+>)\Z")


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer, renders = facts.detail("generation_prompt"), facts.renders
    # Where answers follow questions without a header, there is none to add.
    if renders is None or answer.answer != "no" or answer.outcome == "in-place":
        return
    message = f"add_generation_prompt is ignored: {answer.evidence}"
    if answer.outcome == "misplaced":
        fix = "Nothing to do for an answer; where none is to be generated, cut off what begins one."
        if _ends_the_question(renders):
            fix = "Nothing to do: it stands behind every question, whether an answer follows or not."
        yield Diagnostic(f"{message}.", fix, answer.line)
        return
    header = _missing(renders)
    if not header.strip():
        fix = "See the model's page for what an answer begins with, and add it where the model does not."
        yield Diagnostic(f"{message}.", fix, answer.line)
        return
    yield Diagnostic(
        f"{message}, though in the history an answer begins with '{quote(header)}'.",
        f"End the template with `{{% if add_generation_prompt %}}{_escaped(header)}{{% endif %}}`.",
        written_at(renders, reply(), None, REPLY) or answer.line,
        "warning",
    )


def _ends_the_question(renders: Renders) -> bool:
    """Whether what stands behind a question belongs to it: a closing mark, or what stands behind an earlier one too and
    is no header of an answer.
    """
    tail = renders.text(user()).rpartition(USER)[2].strip()
    if _CLOSED.search(tail):
        return True
    if len(answer_prefix(tail)) < len(tail):
        return False
    between = renders.text([*user(), {"role": "user", "content": FURTHER}]).rpartition(FURTHER)[0].rpartition(USER)[2]
    return bool(tail) and between.lstrip().startswith(tail)


def _missing(renders: Renders) -> str:
    """What the template writes between a question and an answer, and not behind a question to be answered."""
    asked = renders.render(user(), generation=True)
    before = renders.text(reply()).rpartition(USER)[2].partition(REPLY)[0]
    behind = asked.rpartition(USER)[2] if isinstance(asked, str) else before
    return before[len(behind) :] if before.startswith(behind) else ""


def _escaped(header: str) -> str:
    """The header as a template writes it."""
    return "{{- " + json.dumps(header, ensure_ascii=False) + " }}"
