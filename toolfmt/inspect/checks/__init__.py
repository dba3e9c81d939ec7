"""The findings: one module each. Its name has the code and the name of the finding, and its docstring is the page.

A module `tf013_calls_dropped` has one function, `check(facts)`, which yields diagnostics. It also has `SEVERITY`,
`FIXED_BY` if that is a warning, and `ABOUT_FILES` if the finding depends on the files next to the template, not on
what the template renders: another package of the same model may lack these. A check with several outcomes has
`OUTCOMES` instead: the same values for each outcome, and the finding that the outcome replaces.

`PROTECTED` means that a template cannot ignore the finding: it is about safety, or the report does not cover
everything. `NEEDS_A_PACKAGE` means that the check does nothing without an optional package.

What `--fix` does is declared here, too: a change of the template (`FIX`), a setting (`SETTING`), or `WHY_NOT_FIXED`. A
note with `ON_REQUEST` is not shown in text unless it is requested. To add a finding, write the module and add it to
`_MODULES`; there is only this list.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import get_args

from toolfmt.errors import ToolfmtError
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Finding, FindingKey, Severity
from toolfmt.inspect.runtimes.runtime_verdicts import concerned

_MODULES = (
    "tf001_no_template",
    "tf002_template_broken",
    "tf003_user_message_lost",
    "tf004_nondeterministic",
    "tf005_special_token_missing",
    "tf006_unexpected_value",
    "tf007_limit_hit",
    "tf009_empty_tool_calls_mishandled",
    "tf010_empty_tools_preamble",
    "tf011_tools_not_shown",
    "tf013_calls_dropped",
    "tf014_arguments_form",
    "tf017_content_with_call",
    "tf019_second_call_lost",
    "tf020_results_lost",
    "tf021_templates_in_conflict",
    "tf022_declared_parser_contradicts",
    "tf023_declared_parser_unknown",
    "tf024_model_type_contradicts",
    "tf025_unknown_format",
    "tf026_call_not_read_back",
    "tf027_system_message",
    "tf029_id_form_required",
    "tf030_text_next_to_call_dropped",
    "tf031_results_mismatched",
    "tf032_lost_after_result",
    "tf033_reasoning_dropped",
    "tf034_alternation_required",
    "tf036_developer_role",
    "tf037_content_parts",
    "tf038_generation_prompt",
    "tf039_template_mutates_input",
    "tf040_schema_parts_dropped",
    "tf041_definition_rejected",
    "tf042_tools_under_another_name",
    "tf043_format_depends_on_a_variable",
    "tf044_definition_text_broken",
    "tf045_generation_prompt_cut_short",
    "tf046_turn_not_closed",
    "tf047_hidden_characters",
    "tf048_marker_misspelled",
    "tf049_python_repr_values",
    "tf050_prefix_cache",
    "tf053_key_order_changed",
    "tf055_marker_injection",
    "tf056_content_changes_the_template",
    "tf057_default_instructions",
    "tf060_template_not_found",
    "tf061_parser_inference",
    "tf065_marker_tokens",
    "tf067_tools_exceed_context",
    "tf068_tokenizer_unreadable",
    "tf069_stop_token",
    "tf070_other_engine",
    "tf075_reasoning_under_another_name",
    "tf076_later_turns_differ",
    "tf078_tools_need_a_system_message",
    "tf085_unreached_branch",
    "tf086_content_sensitive_rendering",
    "tf090_earlier_turns_lost",
    "tf091_first_question_unmarked",
    "tf093_supply_chain",
    "tf094_response_start",
    "tf095_ignore_comment",
)

_LONGEST = 5_000
_TRAILS_OFF = re.compile(r"(?<!\.)\.{3}\Z")

CHECKS: tuple[ModuleType, ...] = tuple(import_module(f"toolfmt.inspect.checks.{module}") for module in _MODULES)


class UnknownCode(ToolfmtError, LookupError):
    """No finding has this code or name."""


def code(check: ModuleType) -> str:
    """`TF013`, for the module `tf013_calls_dropped`."""
    return _stem(check).partition("_")[0].upper()


def name(check: ModuleType) -> str:
    """`calls-dropped`, for the module `tf013_calls_dropped`."""
    return _stem(check).partition("_")[2].replace("_", "-")


def outcomes(check: ModuleType) -> Mapping[str, FindingOutcome]:
    """The outcomes of a check by name. A check that declares none has one, which has the check's name."""
    declared: Mapping[str, FindingOutcome] | None = getattr(check, "OUTCOMES", None)
    if declared is not None:
        return declared
    only = FindingOutcome(
        check.SEVERITY,
        getattr(check, "FIXED_BY", ""),
        about_files=getattr(check, "ABOUT_FILES", False),
        setting=getattr(check, "SETTING", ""),
        why_not_fixed=getattr(check, "WHY_NOT_FIXED", ""),
        on_request=getattr(check, "ON_REQUEST", False),
        summary=getattr(check, "SUMMARY", ""),
        forms=getattr(check, "FORMS", ()),
    )
    return {name(check): only}


def severity(check: ModuleType) -> Severity:
    """The worst severity of the check's outcomes; a check may report a single diagnostic as more or less severe."""
    return min((one.severity for one in outcomes(check).values()), key=get_args(Severity).index)


def summary(finding: Finding) -> str:
    """Return the phrase for a finding in a sentence."""
    return ALL_OUTCOMES[finding.key].summary or finding.outcome.replace("-", " ")


def is_about_parsing(finding: Finding) -> bool:
    """Whether the finding is about how calls are parsed, not about what the template renders."""
    return getattr(_by_key()[finding.code.lower()], "ABOUT_PARSING", False)


def is_solved_by_settings(finding: Finding) -> bool:
    """Whether the settings that the report names for a runtime solve the finding there."""
    return getattr(_by_key()[finding.code.lower()], "SOLVED_BY_SETTINGS", False)


def is_protected(key: FindingKey) -> bool:
    """Whether a template cannot ignore the finding, because it protects users of a template that they do not trust."""
    return getattr(_by_key()[key[0].lower()], "PROTECTED", False)


def needs_a_package(key: FindingKey) -> bool:
    """Whether the check needs an optional package, so that the finding may be missing."""
    return getattr(_by_key()[key[0].lower()], "NEEDS_A_PACKAGE", False)


def page(check: ModuleType) -> str:
    """The page of a finding, in Markdown: what it is, why it matters, what to do, an example."""
    return (check.__doc__ or "").strip() + "\n"


def explain(selector: str) -> str:
    """The page of the finding with this code or name, in any case; raises `UnknownCode` with the nearest ones."""
    check = _by_key().get(selector.lower()) or _by_key()[next(iter(_of_outcomes(selector)))[0].lower()]
    return f"# {code(check)} {name(check)}\n\n{page(check)}"


def moved(selector: str) -> str:
    """Return a line that names the finding with this outcome, or the one that replaces this old code or name.

    Empty for the code or name of a finding.
    """
    if selector.lower() in _by_key():
        return ""
    found, outcome = next(iter(_of_outcomes(selector)))
    shown = f"{found} {name(_by_key()[found.lower()])}"
    if selector.lower() == outcome:
        return f"{outcome} is an outcome of {shown}."
    return f"{selector} is now {shown}, outcome {outcome}."


def keys_of(selector: str) -> frozenset[FindingKey]:
    """Return the findings that this selects.

    It is a code, a name, an outcome, the start of codes (`TF01`), or a code or name that an outcome replaces. Raise
    `UnknownCode`.
    """
    check = _by_key().get(selector.lower())
    if check is not None:
        return _keys(check)
    started = [
        key
        for key, outcome in ALL_OUTCOMES.items()
        if selector and (key[0].startswith(selector.upper()) or outcome.replaces.startswith(selector.upper()))
    ]
    return frozenset(started) or _of_outcomes(selector)


def key_of(code: str, outcome: str | None) -> FindingKey:
    """Return the key of a finding in a report, possibly from an earlier toolfmt.

    That report may have a code that another finding replaces, or no outcome.
    """
    if outcome is not None:
        return code, outcome
    replaced = next((key for key, one in ALL_OUTCOMES.items() if one.replaces.partition(" ")[0] == code), None)
    check = _by_key().get(code.lower())
    return replaced or (code, "" if check is None else next(iter(outcomes(check))))


def unknown(selector: str, kind: str = "finding") -> UnknownCode:
    """The error for a code or name that no finding has, with the nearest ones; `kind` is what else it might name."""
    codes = {one: keys[0][0] for one, keys in _outcome_names().items()}
    codes |= {one: code(check) for one, check in _by_key().items()}
    near = difflib.get_close_matches(selector.lower(), codes, n=3)
    hint = f"did you mean {' or '.join(dict.fromkeys(codes[one] for one in near))}? " if near else ""
    return UnknownCode(f"no {kind} is called {selector!r}; {hint}`toolfmt explain` lists the findings")


def _keys(check: ModuleType) -> frozenset[FindingKey]:
    return frozenset((code(check), outcome) for outcome in outcomes(check))


def _of_outcomes(selector: str) -> frozenset[FindingKey]:
    """The outcomes of this name, or that replace a finding of this code or name."""
    keys = _outcome_names().get(selector.lower(), [])
    if len(keys) > 1:
        codes = " and ".join(found for found, _ in keys)
        raise UnknownCode(f"{selector!r} is an outcome of {codes}; name one of them")
    if not keys:
        raise unknown(selector)
    return frozenset(keys)


def _outcome_names() -> Mapping[str, list[FindingKey]]:
    """The outcomes by their names, and by the codes and names that they replace, in lower case."""
    names: dict[str, list[FindingKey]] = {}
    for key, outcome in ALL_OUTCOMES.items():
        for one in dict.fromkeys((key[1], *outcome.replaces.lower().split())):
            names.setdefault(one, []).append(key)
    return names


def _by_key() -> dict[str, ModuleType]:
    """Every check by its code and by its name, in lower case."""
    return {key.lower(): check for check in CHECKS for key in (code(check), name(check))}


def findings(facts: Facts, checks: Iterable[ModuleType] = CHECKS) -> tuple[Finding, ...]:
    """Return the findings and notes of these checks, in order of code."""
    found = [_finding(facts, check, diagnostic) for check in checks for diagnostic in check.check(facts)]
    broken = any(one.severity == "error" for one in found)
    return tuple(replace(one, on_request=_is_on_request(one, broken)) for one in found)


def _is_on_request(finding: Finding, broken: bool) -> bool:
    """Whether it is a note that text shows on request only."""
    declared = ALL_OUTCOMES[finding.key]
    return declared.on_request or (declared.in_verdict and not broken)


def _finding(facts: Facts, check: ModuleType, found: Diagnostic) -> Finding:
    outcome = found.outcome or name(check)
    declared = outcomes(check)[outcome]
    severity = found.severity or declared.severity
    fixed_by = found.fixed_by if found.fixed_by is not None else declared.fixed_by if severity == "warning" else ""
    message, fix = _sentence(_cut(found.message)), _cut(found.fix)
    runtimes = concerned(facts, found.forms or declared.forms) if found.runtimes is None else found.runtimes
    return Finding(
        code(check), name(check), message, found.line, fix, severity, fixed_by, outcome=outcome, runtimes=runtimes
    )


def _cut(text: str) -> str:
    """Return the text, truncated: a template may have variable names of megabytes."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _sentence(text: str) -> str:
    """Return the text with one period at its end, unless it ends with other punctuation: `!`, `?`, `...`."""
    sentence = text if _TRAILS_OFF.search(text) else text.removesuffix(".")
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."


def _stem(check: ModuleType) -> str:
    return check.__name__.rpartition(".")[2]


ALL_OUTCOMES: Mapping[FindingKey, FindingOutcome] = {
    (code(check), outcome): declared for check in CHECKS for outcome, declared in outcomes(check).items()
}
"""Every outcome of every check."""
