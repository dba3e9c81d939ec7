"""Short phrases for the details and definitions in a report, shown next to the capability they belong to.

`phrases` is called for each capability of the report. Details that are fine, or covered by the capability itself, have
no phrase. `toolfmt.cli.printing.sections` prints all evidence.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolfmt._util.text_lists import listed_first
from toolfmt.inspect.report.report import Answer, Report

_MOST = 6
"""Maximum number of named parts of a schema; the others are counted."""

_NO_TEXT = "no text next to a call"
_LATER_TEXT = {
    "misplaced": "text next to a call appears after the result",
    "lost-later": "text next to a call is dropped in some turns",
}
# The phrase for a detail that is not yes, by its capability.
_DETAILS: Mapping[str, Mapping[str, str]] = {
    "calls": {
        "text_with_call": _NO_TEXT,
        "history_without_tools": "earlier calls only if tools are sent",
    },
    "results": {
        "results_several": "one result per turn",
        "results_unnamed": "`name` must be set",
        "results_unnumbered": "`tool_call_id` must be set",
    },
    "system": {
        "system_later": "only as the first message",
    },
    "reasoning": {
        "reasoning_earlier": "dropped from earlier turns",
        "reasoning_in_loop": "dropped after a tool result",
    },
}
# Covered by the capabilities themselves, or neither good nor bad.
_COVERED = (
    *(
        "ids_ordinary",
        "ids_none",
        "ids_paired",
        "reasoning_field",
        "results_as_documents",
        "results_null",
        "generation_open",
        "stop",
    ),
    # Clients seldom send these; a note covers them.
    *(
        "content_absent",
        "calls_empty",
        "content_parts",
        "values_as_json",
        "results_reordered",
        "results_as_parts",
        "developer",
        "generation_prompt",
        "generation_marked",
        "results_unmatched",
        "results_alone",
        "arguments_missing",
        "reasoning_unclosed",
        "system_alone",
    ),
)
# Turns that may not be adjacent: one phrase for all of them.
_IN_A_ROW = ("users_in_a_row", "assistants_in_a_row", "user_after_result")
_IDS = {"ids_nine": "only ids such as q7Zk2Wx9B", "ids_function": "only ids of the form functions.NAME:N"}
# The forms that a definition may have, except its contents.
_FORMS = {
    "no_descriptions": "without descriptions",
    "no_parameters": "without parameters",
    "several_tools": "several at once",
}
_FAILING = {"additional_properties": "objects without `properties` but with other keys"}
_KEYWORDS = {
    "any_of": "anyOf",
    "one_of": "oneOf",
    "references": "$ref",
    "limits": "minimum/maximum",
    "additional_properties": "additionalProperties",
}
_SPELLING = ("quoting", "non_ascii", "without_wrapper")
_SEVERAL = "results_several"


def phrases(report: Report, ability: str) -> list[str]:
    """Return short lines for a capability."""
    details = report.sections.details
    if ability == "definitions":
        return _definitions(report.sections.definitions)
    if ability == "reasoning" and report.capabilities["reasoning"].answer != "yes":
        return []
    # If a turn has only one call, several results do not occur.
    not_tested = () if report.capabilities["parallel_tool_calls"].answer == "yes" else (_SEVERAL,)
    tested = {name: words for name, words in _DETAILS.get(ability, {}).items() if name not in not_tested}
    parts = [words for name, words in tested.items() if _is_not(details, name)]
    if ability == "calls":
        parts = [*_ids(details), *parts]
    outcomes = {name: answer.outcome for name, answer in details.items()}
    if ability == "calls" and outcomes.get("text_with_call") in _LATER_TEXT:
        parts = [_LATER_TEXT[outcomes["text_with_call"]] if one == _NO_TEXT else one for one in parts]
    if ability == "results" and outcomes.get("results_unnumbered") == "name-lost":
        parts = [
            "without any ids, two results get the same tool name"
            if one == _DETAILS["results"]["results_unnumbered"]
            else one
            for one in parts
        ]
    if ability == "system" and outcomes.get("system_later") == "misplaced":
        parts = ["only the last of several"]
    if ability == "system" and any(outcomes.get(name) in ("threw", "dropped") for name in _IN_A_ROW):
        parts.append("roles must alternate")
    return ["; ".join(parts)] if parts else []


def phrased() -> frozenset[str]:
    """Return the names of the details that have a phrase here or need none."""
    names = (name for words in _DETAILS.values() for name in words)
    return frozenset((*names, *_IN_A_ROW, *_IDS, *_COVERED))


def _ids(details: Mapping[str, Answer]) -> list[str]:
    """Return the form of ids that the template needs, if it does not accept those of clients."""
    if not _is_not(details, "ids_ordinary"):
        return []
    forms = [words for name, words in _IDS.items() if name in details and not _is_not(details, name)]
    return forms[:1] or ["no ids"]


def _definitions(definitions: Mapping[str, Answer]) -> list[str]:
    parts = {name: answer for name, answer in definitions.items() if name not in _FORMS and name not in _SPELLING}
    lost = [name for name, answer in parts.items() if answer.answer == "no"]
    failing = [_FAILING.get(name, _keyword(name)) for name, answer in parts.items() if answer.answer == "error"]
    unsupported = [words for name, words in _FORMS.items() if _is_not(definitions, name)]
    lines = []
    if all(name in parts and parts[name].answer == "yes" for name in ("description", "parameter_names")):
        lines.append("its parameters too")
    if lost:
        partly = [_keyword(name) for name in lost if definitions[name].outcome == "in-part"]
        whole = [_keyword(name) for name in lost if definitions[name].outcome != "in-part"]
        if whole:
            lines.append(f"schema keywords not in the prompt: {listed_first(whole, _MOST)}")
        if partly:
            lines.append(f"schema keywords shown only in some schemas: {listed_first(partly, _MOST)}")
    if failing:
        lines.append("some definitions are rejected")
    if unsupported:
        lines.append(f"not supported: tools {', '.join(unsupported)}")
    return lines


def _keyword(name: str) -> str:
    """The JSON Schema keyword of a part of a definition, or the words of its name."""
    return _KEYWORDS.get(name, name.replace("_", " "))


def _is_not(answers: Mapping[str, Answer], name: str) -> bool:
    return name in answers and answers[name].answer != "yes"
