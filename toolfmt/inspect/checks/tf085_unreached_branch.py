"""A condition of the template was tested only one way, or no tested prompt contains one of its sentences.

What it checks: the conditions on a string, a length or the clock, and the sentences in the template. An inspection
renders several hundred prompts, and one more for each string and number that a condition looks for. A condition must
come out both ways.

- A condition that leads to a raised error counts as tested once the template has raised there, whichever part of the
  condition caused it.
- A sentence counts as seen if any tested prompt contains it. Messages of `raise_exception` are not checked.

Why it matters: the report does not cover what the other outcome renders. It may be harmless, for example a kind of
message that clients do not send. Or it may hide a tool on a certain day, or for a certain string.

Affected runtimes: every runtime that renders this template.

Example:

    {% if (message.content | length * 7) % 97 == 13 %}...{% endif %}

depends on a sum that hardly any message has.

Fix: review the line by hand. The finding is a note for strings and lengths. It is a warning for conditions that a
reader cannot try out: a sum over a string, the clock, or toolfmt's own test words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolfmt._util.text_lists import listed_first
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.sections.branches.probe_words import has_probe_word
from toolfmt.inspect.sections.branches.text_conditions import KINDS, on_message_text
from toolfmt.templates import ChatTemplate
from toolfmt.templates.analysis.conditions import COUNTING, Condition

SEVERITY: Severity = "note"
FIXED_BY: FixedBy = "template"
PROTECTED = True

_MOST_LINES, _MOST_TEXTS = 5, 3
_CONVERSATION = frozenset({"messages", "tools"})


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None or facts.turn_probe is None:
        return
    template = facts.renders.template
    unseen = [one for one in template.watch.conditions if len(template.watch.met(one)) < 2]
    for serious in (True, False):
        found = [one for one in unseen if _looks(one, template) and _is_serious(one) == serious]
        if found:
            yield _found(found, template, serious=serious)
    lines = {condition.line for condition in unseen if _looks(condition, template)}
    unprinted = {line: text for text, line in template.own_texts.unprinted.items() if line not in lines}
    if unprinted:
        shown = [f"line {line} ('{quote(unprinted[line], 60)}')" for line in sorted(unprinted)]
        yield Diagnostic(
            f"No tested prompt contains the text in {listed_first(shown, _MOST_TEXTS)}.",
            f"Review the condition on which {'they depend' if len(shown) > 1 else 'it depends'} by hand.",
            min(unprinted),
        )


def _looks(condition: Condition, template: ChatTemplate) -> bool:
    """Whether the condition depends on the text of a conversation, or on nothing that a caller passes."""
    if condition.about == "" and on_message_text(condition, template.watch):
        return True
    options = set(template.variables) - _CONVERSATION
    by_option = bool(condition.names & options) and not condition.names & _CONVERSATION
    if condition.about == "text":
        return not by_option and bool(set(condition.texts) - KINDS - {""})
    if condition.about == "number" and not (condition.names | condition.calls) & COUNTING:
        return not by_option
    return condition.about not in ("", "chance")  # TF004 reports random output


def _is_serious(condition: Condition) -> bool:
    if condition.about in ("sum", "clock"):
        return True
    return any(has_probe_word(text) for text in condition.texts)


def _found(conditions: Sequence[Condition], template: ChatTemplate, *, serious: bool) -> Diagnostic:
    source = template.source.split("\n")
    lines = sorted({condition.line for condition in conditions})
    rejected = {
        line for line in lines if all(template.watch.only_raised(one) for one in conditions if one.line == line)
    }
    every = template.watch.conditions
    true = {
        line for line in lines if all(template.watch.always_true(one) for one in every if one.line == line)
    } - rejected
    how = {
        **dict.fromkeys(rejected, ": every test conversation was rejected there"),
        **dict.fromkeys(true, ": always true"),
    }
    partly_tested_lines = {
        line
        for line in lines
        if all(template.watch.whole_test_came_out_both_ways(one) for one in conditions if one.line == line)
    }
    shown = {line: f"line {line} ({quote(source[line - 1], 60)}{how.get(line, '')})" for line in lines}
    unreached, partly_tested = (
        [shown[line] for line in lines if (line in partly_tested_lines) == part] for part in (False, True)
    )
    what = "One branch" if len(unreached) == 1 else f"{len(unreached)} branches"
    were = "was" if len(unreached) == 1 else "were"
    sentences = [f"{what} {were} not reached by any test: {listed_first(unreached, _MOST_LINES)}."] if unreached else []
    if partly_tested:
        sentences.append(
            f"Some operands of `and` or `or` were not tested both ways: {listed_first(partly_tested, _MOST_LINES)}."
        )
    return Diagnostic(
        " ".join(sentences),
        f"Review {'them' if len(lines) > 1 else 'it'} by hand.",
        lines[0],
        "warning" if serious else "note",
    )
