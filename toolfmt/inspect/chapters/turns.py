"""Capabilities in depth, of turns: what becomes of results, ids, content, reasoning and roles in a real conversation.

`details` is the chapter of the report, `fitted` adds to what the renderer is told of the template what follows from it.
The questions stand in `toolfmt.inspect.turns`, a module each subject; each changes one thing in a conversation that
comes out right and looks for sentinels in what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import REPLY, reply, user
from toolfmt.inspect.report import Answer, Rendering
from toolfmt.inspect.turns import content, generation, ids, reasoning, results, roles, values
from toolfmt.inspect.turns.asking import Asking

_QUESTIONS: tuple[Callable[[Asking], Answer], ...] = (
    results.results_several,
    results.results_reordered,
    results.results_unnamed,
    results.results_unnumbered,
    results.results_as_parts,
    results.results_as_documents,
    ids.ids_ordinary,
    ids.ids_nine,
    ids.ids_function,
    ids.ids_none,
    ids.ids_paired,
    content.text_beside_call,
    content.content_absent,
    content.calls_empty,
    content.content_parts,
    values.values_as_json,
    reasoning.reasoning_field,
    reasoning.reasoning_earlier,
    reasoning.reasoning_in_loop,
    roles.system_later,
    roles.developer,
    roles.users_in_a_row,
    roles.assistants_in_a_row,
    roles.user_after_result,
    roles.history_without_tools,
    generation.generation_prompt,
)

DETAILS: tuple[str, ...] = (*(question.__name__ for question in _QUESTIONS), "generation_open", "stop")
"""The names of the details, in the order of the report."""


def details(facts: Facts) -> dict[str, Answer]:
    """Every detail by its name; empty without a template that renders. Never raises."""
    if facts.renders is None or facts.probed is None:
        return {}
    asking = Asking(facts.renders, facts.shape, parallel=facts.probed.parallel, reasoning=facts.yes("reasoning"))
    answers = {question.__name__: question(asking) for question in _QUESTIONS}
    answers["generation_open"] = generation.generation_open(facts.rendering)
    tokens = facts.renders.template.special_tokens
    behind = "".join(asking.text(messages).rpartition(REPLY)[2] for messages in (reply(), [*reply(), *user()]))
    answers["stop"] = generation.stop(facts.rendering, eos_token=tokens.get("eos_token"), behind=behind)
    return answers


def fitted(rendering: Rendering, capabilities: Mapping[str, Answer], answers: Mapping[str, Answer]) -> Rendering:
    """The rendering with the forms of ids, results and contents that the details show to be needed."""
    if not answers:
        return rendering
    spelled = capabilities["tool_results"].how == "spelled" and answers["results_as_parts"].answer == "yes"
    return replace(
        rendering,
        ids=needed_ids(answers),
        results="parts" if spelled else "string",
        results_in_order=answers["results_reordered"].how == "by-order",
        results_named=answers["results_unnamed"].how in ("threw", "dropped", "name-lost"),
        parts=not answers["content_parts"].how,
        result_parts=not answers["results_as_parts"].how,
        result_documents=not answers["results_as_documents"].how,
        empty_calls=not answers["calls_empty"].how,
        text_beside_call=answers["text_beside_call"].how != "dropped",
    )


def needed_ids(answers: Mapping[str, Answer]) -> Literal["", "nine", "function"]:
    """The form of ids that a template needs; empty where ordinary ones do, or where no form does."""
    if answers["ids_ordinary"].answer == "yes":
        return ""
    forms: tuple[Literal["function", "nine"], ...] = ("function", "nine")
    return next((form for form in forms if answers[f"ids_{form}"].answer == "yes"), "")
