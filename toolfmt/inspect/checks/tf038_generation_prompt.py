"""`add_generation_prompt` has no effect, or it changes more than the end of the prompt.

What it checks: conversations rendered with and without `add_generation_prompt`.

- `generation-prompt-ignored`: the template writes the assistant's header after every conversation, even if no response
  is wanted (for training, or to continue a message). Or it never writes the header, so the program has to, unless the
  model does. That is a warning if the template writes a header before every earlier response.
- `generation-prompt-changes-content`: the template renders a message, or the tools, only with it or only without it.

Why it matters: the prompt lacks the assistant's header, or has it although no response is wanted. Or it lacks a message
or the tools.

Affected runtimes: every runtime that renders this template.

Example:

    {% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}

Fix: compare the end of the prompt with the model card. Add the header if it is missing, and remove it if it is too
much. A marker that ends the question, such as `[/INST]`, is not too much.

    {% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}
    {% if add_generation_prompt %}<|assistant|>{% endif %}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.capabilities import written_at
from toolfmt.inspect.probe.conversations import FURTHER, REPLY, USER, reply, user
from toolfmt.inspect.probe.generation_effects import GenerationEffect, generation_effects
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.wording import quote

OUTCOMES = {
    "generation-prompt-ignored": FindingOutcome("note", "template"),
    "generation-prompt-changes-content": FindingOutcome("warning", "template"),
}
_CLOSED = re.compile(r"(?:\[/\w+\]|</[\w|]+>)\Z")


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is not None and facts.renders.always_generation:
        yield from _changed(facts.renders)
    yield from _ignored(facts)


def _changed(renders: Renders) -> Iterator[Diagnostic]:
    """Report content that only one prompt has: the prompt with the generation prompt, or without."""
    effects = list(generation_effects(renders))
    for holds in (False, True):
        mine = [effect for effect in effects if effect.holds == holds]
        if not mine:
            continue
        which = "without" if holds else "with"
        lost = list(dict.fromkeys(content for effect in mine for content in effect.called))
        error = next((effect.error for effect in mine if effect.error), None)
        changes = [f"{listed(lost)} {'is' if lost == lost[:1] else 'are'} missing"] if lost else []
        changes += [f"the template rejects a conversation: {thrown(error).sentence}"] if error else []
        yield Diagnostic(
            f"In a prompt {which} add_generation_prompt {', and '.join(changes)}.",
            "Set add_generation_prompt only for a prompt that the model continues; this report is about prompts "
            "with it.",
            error.line if error else _deciding_line(renders.as_requested(), mine[0]),
            "note" if holds else None,
            outcome="generation-prompt-changes-content",
        )


def _deciding_line(renders: Renders, effect: GenerationEffect) -> int | None:
    """Return the line of the condition that drops the first content."""

    def render(generation: bool) -> str | TemplateError:
        return renders.fresh(effect.messages, effect.tools, generation=generation)

    better, worse = (partial(render, generation) for generation in (effect.holds, not effect.holds))
    return renders.deciding_line(better, worse, lambda prompt: effect.contents[0] in prompt)


def _ignored(facts: Facts) -> Iterator[Diagnostic]:
    answer, renders = facts.detail("generation_prompt"), facts.renders
    # If responses follow questions without a header, a header is not missing.
    if renders is None or answer.answer != "no" or answer.outcome == "in-place":
        return
    message = f"add_generation_prompt is ignored: {answer.evidence}"
    if answer.outcome == "misplaced":
        fix = "Nothing to do for a response. If none is to be generated, remove the header at the end."
        if _ends_the_question(renders):
            fix = "Nothing to do: this text ends every question, also without add_generation_prompt."
        yield Diagnostic(f"{message}.", fix, answer.line, outcome="generation-prompt-ignored")
        return
    header = _missing(renders)
    if not header.strip():
        fix = "Check the model card for what a response starts with, and add it if the model does not."
        yield Diagnostic(f"{message}.", fix, answer.line, outcome="generation-prompt-ignored")
        return
    yield Diagnostic(
        f"{message}, but in the history a response starts with '{quote(header)}'.",
        f"End the template with `{{% if add_generation_prompt %}}{_escaped(header)}{{% endif %}}`.",
        written_at(renders, reply(), None, REPLY) or answer.line,
        "warning",
        outcome="generation-prompt-ignored",
    )


def _ends_the_question(renders: Renders) -> bool:
    """Whether the text after a question belongs to it: an end marker, or text that also follows an earlier question
    and is not a response header.
    """
    tail = renders.text(user()).rpartition(USER)[2].strip()
    if _CLOSED.search(tail):
        return True
    if len(answer_prefix(tail)) < len(tail):
        return False
    between = renders.text([*user(), {"role": "user", "content": FURTHER}]).rpartition(FURTHER)[0].rpartition(USER)[2]
    return bool(tail) and between.lstrip().startswith(tail)


def _missing(renders: Renders) -> str:
    """Return what the template writes between a question and a response, but not after the last question."""
    question = renders.render(user(), generation=True)
    before = renders.text(reply()).rpartition(USER)[2].partition(REPLY)[0]
    after = question.rpartition(USER)[2] if isinstance(question, str) else before
    return before[len(after) :] if before.startswith(after) else ""


def _escaped(header: str) -> str:
    """Return the header as template source."""
    return "{{- " + json.dumps(header, ensure_ascii=False) + " }}"
