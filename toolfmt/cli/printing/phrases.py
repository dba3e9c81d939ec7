"""What the details and definitions of a report come to in a few words, beside the ability they belong to.

`phrases` is called for each ability of the report; what is fine, or told by the ability itself, has no words. The
evidence of every answer is printed in full, by `toolfmt.cli.printing.sections`.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolfmt._util.text_lists import listed_first
from toolfmt.inspect.report.report import Answer, Report

_MOST = 6
"""So many parts of a schema are named; the others are counted."""

_NO_TEXT = "no text next to a call"
_BESIDE_LATER = {
    "misplaced": "text next to a call appears after the result",
    "lost-later": "text next to a call is dropped in some turns",
}
# What is said of a detail that is not yes, by the ability it belongs to.
_DETAILS: Mapping[str, Mapping[str, str]] = {
    "calls": {
        "text_beside_call": _NO_TEXT,
        "history_without_tools": "earlier calls only if tools are sent",
    },
    "results": {
        "results_several": "one result per turn",
        "results_unnamed": "only with the name of the tool",
        "results_unnumbered": "only with the id of the call",
    },
    "system": {
        "system_later": "only at the beginning",
    },
    "reasoning": {
        "reasoning_earlier": "dropped from earlier turns",
        "reasoning_in_loop": "dropped after a tool result",
    },
}
# Told by the abilities themselves, or neither good nor bad.
_TOLD = (
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
    # What clients seldom send; a note tells those who do.
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
# Turns that may not follow each other: one phrase for all of them.
_IN_A_ROW = ("users_in_a_row", "assistants_in_a_row", "user_after_result")
_IDS = {"ids_nine": "ids such as q7Zk2Wx9B only", "ids_function": "ids functions.NAME:N only"}
# What a definition may look like, beside what stands in it.
_FORMS = {
    "no_descriptions": "without descriptions",
    "no_parameters": "without parameters",
    "several_tools": "several at once",
}
_FAILING = {"additional_properties": "objects without `properties`"}
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
    """Lines to stand under an ability that is there; each a few words."""
    details = report.sections.details
    if ability == "definitions":
        return _definitions(report.sections.definitions)
    if ability == "reasoning" and report.capabilities["reasoning"].answer != "yes":
        return []
    # Where a turn has one call only, nothing is said of several results.
    unasked = () if report.capabilities["parallel_tool_calls"].answer == "yes" else (_SEVERAL,)
    asked = {name: words for name, words in _DETAILS.get(ability, {}).items() if name not in unasked}
    told = [words for name, words in asked.items() if _is_not(details, name)]
    if ability == "calls":
        told = [*_ids(details), *told]
    outcomes = {name: answer.outcome for name, answer in details.items()}
    if ability == "calls" and outcomes.get("text_beside_call") in _BESIDE_LATER:
        told = [_BESIDE_LATER[outcomes["text_beside_call"]] if one == _NO_TEXT else one for one in told]
    if ability == "results" and outcomes.get("results_unnumbered") == "name-lost":
        told = ["mixed up without ids" if one == _DETAILS["results"]["results_unnumbered"] else one for one in told]
    if ability == "system" and outcomes.get("system_later") == "misplaced":
        told = ["only the last of several"]
    if ability == "system" and any(outcomes.get(name) in ("threw", "dropped") for name in _IN_A_ROW):
        told.append("roles must alternate")
    return ["; ".join(told)] if told else []


def phrased() -> frozenset[str]:
    """The names of the details that have words here, or need none."""
    names = (name for words in _DETAILS.values() for name in words)
    return frozenset((*names, *_IN_A_ROW, *_IDS, *_TOLD))


def _ids(details: Mapping[str, Answer]) -> list[str]:
    """The form of ids that is needed where those that clients write are not taken."""
    if not _is_not(details, "ids_ordinary"):
        return []
    forms = [words for name, words in _IDS.items() if name in details and not _is_not(details, name)]
    return forms[:1] or ["no ids"]


def _definitions(definitions: Mapping[str, Answer]) -> list[str]:
    parts = {name: answer for name, answer in definitions.items() if name not in _FORMS and name not in _SPELLING}
    lost = [name for name, answer in parts.items() if answer.answer == "no"]
    failing = [_FAILING.get(name, _keyword(name)) for name, answer in parts.items() if answer.answer == "error"]
    refused = [words for name, words in _FORMS.items() if _is_not(definitions, name)]
    lines = []
    if lost:
        partly = " (partly)"
        names = [_keyword(name) + partly * (definitions[name].outcome == "in-part") for name in lost]
        lines.append(f"schema keywords not in the prompt: {listed_first(names, _MOST)}")
    if failing:
        lines.append(f"some forms rejected: {listed_first(failing, _MOST)}")
    if refused:
        lines.append(f"not supported: tools {', '.join(refused)}")
    return lines


def _keyword(name: str) -> str:
    """The JSON Schema keyword of a part of a definition, or the words of its name."""
    return _KEYWORDS.get(name, name.replace("_", " "))


def _is_not(answers: Mapping[str, Answer], name: str) -> bool:
    return name in answers and answers[name].answer != "yes"
