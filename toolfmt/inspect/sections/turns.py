"""The section on turns: what happens to results, ids, content, reasoning and roles in a real conversation.

`details` returns the section; the answers that the profile needs are computed earlier. The probes are in
`toolfmt.inspect.probe.turns`, one module per subject. Each changes one thing in a conversation that renders correctly
and searches the prompt for sentinels.
"""

from __future__ import annotations

from collections.abc import Callable

from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import REPLY, reply, user
from toolfmt.inspect.probe.turn_markers import answer_end, next_mark
from toolfmt.inspect.probe.turns import content, generation, ids, reasoning, results, roles, values
from toolfmt.inspect.probe.turns.turn_probe import TurnProbe
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.stops import cutting

_QUESTIONS: tuple[Callable[[TurnProbe], Answer], ...] = (
    results.results_several,
    results.results_reordered,
    results.results_unnamed,
    results.results_unnumbered,
    results.results_unmatched,
    results.results_alone,
    results.results_as_parts,
    results.results_as_documents,
    results.results_null,
    ids.ids_ordinary,
    ids.ids_nine,
    ids.ids_function,
    ids.ids_none,
    ids.ids_paired,
    content.text_with_call,
    content.content_absent,
    content.calls_empty,
    content.content_parts,
    values.values_as_json,
    values.arguments_missing,
    reasoning.reasoning_field,
    reasoning.reasoning_earlier,
    reasoning.reasoning_in_loop,
    reasoning.reasoning_unclosed,
    roles.system_later,
    roles.system_alone,
    roles.developer,
    roles.users_in_a_row,
    roles.assistants_in_a_row,
    roles.user_after_result,
    roles.history_without_tools,
    generation.generation_prompt,
)

DETAILS: tuple[str, ...] = (
    *(question.__name__ for question in _QUESTIONS),
    "generation_open",
    "generation_marked",
    "stop",
)
"""The names of the details, in the order of the report."""


def details(facts: Facts) -> dict[str, Answer]:
    """Return every detail by its name; empty without a template that renders. Never raises."""
    probe = facts.turn_probe
    if probe is None:
        return {}
    answers = {question.__name__: facts.answers.get(question.__name__) or question(probe) for question in _QUESTIONS}
    answers["generation_open"] = generation.generation_open(facts.profile, probe)
    answers["generation_marked"] = generation.generation_marked(facts.profile, probe)
    tokens = probe.renders.template.special_tokens
    prompts = [probe.text(messages) for messages in (reply(), [*reply(), *user()])]
    after = "".join(prompt.rpartition(REPLY)[2] for prompt in prompts)
    answered = any(REPLY in prompt for prompt in (*prompts, probe.text(reply(probe.shape))))
    follows = next_mark(probe.renders, probe.shape)
    end = answer_end(probe.renders, probe.shape)
    answers["stop"] = generation.stop(
        facts.profile,
        eos_token=tokens.get("eos_token"),
        after=after if answered else None,
        follows="" if follows in probe.renders.tokens.values() else follows,
        inside=end if end in cutting(facts) else "",
    )
    return answers
