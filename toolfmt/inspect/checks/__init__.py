"""The findings: one module each, whose name is its code and name and whose docstring is its page.

A module `tf012_tools_dropped` has `SEVERITY`, for a warning `FIXED_BY`, and one function, `check(facts)`, which
yields what it found; `ABOUT_FILES` where it is about what the files beside the template say, which a build in another
package may do without. To add a finding, write the module and name it in `_MODULES`; nothing else knows the list.
`findings` runs them all, `explain` hands out a page.
"""

from __future__ import annotations

import difflib
import re
from importlib import import_module
from types import ModuleType

from toolfmt.errors import ToolfmtError
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Finding, FixedBy, Severity

_MODULES = (
    "tf001_no_template",
    "tf002_template_broken",
    "tf003_user_message_refused",
    "tf004_clock_used",
    "tf005_special_token_missing",
    "tf006_unexpected_value",
    "tf007_limit_hit",
    "tf009_empty_tool_calls_refused",
    "tf010_empty_tools_preamble",
    "tf011_tools_not_rendered",
    "tf012_tools_dropped",
    "tf013_calls_dropped",
    "tf014_arguments_double_encoded",
    "tf015_object_arguments_refused",
    "tf016_string_arguments_refused",
    "tf017_content_null_refused",
    "tf018_content_null_printed",
    "tf019_second_call_lost",
    "tf020_results_lost",
    "tf021_templates_in_conflict",
    "tf022_declared_parser_contradicts",
    "tf023_declared_parser_unknown",
    "tf024_model_type_contradicts",
    "tf025_unknown_format",
    "tf026_call_not_read_back",
    "tf027_system_message_lost",
    "tf028_content_empty_refused",
    "tf029_id_form_required",
    "tf030_text_beside_call_dropped",
    "tf031_results_mismatched",
    "tf032_history_needs_tools",
    "tf033_reasoning_dropped",
    "tf034_alternation_required",
    "tf035_later_system_refused",
    "tf036_developer_role_dropped",
    "tf037_content_parts_printed_raw",
    "tf038_generation_prompt_ignored",
    "tf039_template_changes_lists",
    "tf040_schema_parts_dropped",
    "tf041_definition_refused",
    "tf042_tools_under_another_name",
    "tf043_format_depends_on_a_variable",
    "tf044_definition_text_broken",
    "tf045_generation_prompt_cut_short",
    "tf046_turn_not_closed",
    "tf047_invisible_character",
    "tf048_marker_misspelt",
    "tf049_values_printed_by_python",
    "tf050_prefix_not_stable",
    "tf051_generation_prompt_not_a_prefix",
    "tf052_renders_differ",
    "tf053_key_order_changed",
    "tf055_control_markers_pass",
    "tf056_content_changes_the_template",
    "tf057_default_instructions",
    "tf060_template_not_found",
    "tf061_wrong_parser_inferred",
    "tf062_parser_not_inferred",
    "tf063_no_parser_anywhere",
    "tf064_model_not_loaded",
    "tf065_markers_are_special_tokens",
    "tf066_marker_not_a_token",
    "tf067_tools_exceed_context",
    "tf068_tokenizer_unreadable",
    "tf069_stop_token_unknown",
    "tf070_other_engine_fails",
    "tf071_other_engine_differs",
    "tf072_answer_end_not_a_stop",
    "tf073_system_message_lost_later",
    "tf074_definition_values_as_python",
    "tf075_reasoning_under_another_name",
    "tf076_later_turns_differ",
    "tf077_tools_lost_later",
    "tf078_tools_need_a_system_message",
    "tf080_call_end_not_a_stop",
    "tf085_branch_not_seen",
    "tf086_input_decides_a_branch",
    "tf087_clock_decides_a_branch",
    "tf088_chance_decides",
    "tf090_earlier_turns_lost",
    "tf091_first_question_unmarked",
    "tf092_format_derived",
)

_LONGEST = 5_000
_TRAILS_OFF = re.compile(r"(?<!\.)\.{3}\Z")

CHECKS: tuple[ModuleType, ...] = tuple(import_module(f"toolfmt.inspect.checks.{module}") for module in _MODULES)


class UnknownCode(ToolfmtError, LookupError):
    """No finding has this code or name."""


def code(check: ModuleType) -> str:
    """`TF012`, for the module `tf012_tools_dropped`."""
    return _stem(check).partition("_")[0].upper()


def name(check: ModuleType) -> str:
    """`tools-dropped`, for the module `tf012_tools_dropped`."""
    return _stem(check).partition("_")[2].replace("_", "-")


def severity(check: ModuleType) -> Severity:
    """How bad it is; a check may say otherwise of a single thing it found."""
    worst: Severity = check.SEVERITY
    return worst


def about_files(wanted: str) -> bool:
    """Whether the finding with this code is about what the files beside the template say, not about what it renders."""
    return getattr(_by_key().get(wanted.lower()), "ABOUT_FILES", False)


def fixed_by(check: ModuleType) -> FixedBy:
    """What heals it, where it is a warning; a check may say otherwise of a single thing it found."""
    healer: FixedBy = getattr(check, "FIXED_BY", "")
    return healer


def page(check: ModuleType) -> str:
    """The page of a finding, in Markdown: what it is, why it matters, what to do, an example."""
    return (check.__doc__ or "").strip() + "\n"


def explain(wanted: str) -> str:
    """The page of the finding with this code or name, in any case; raises `UnknownCode` with the nearest ones."""
    check = _by_key().get(wanted.lower())
    if check is None:
        raise unknown(wanted)
    return f"# {code(check)} {name(check)}\n\n{page(check)}"


def codes_of(wanted: str) -> frozenset[str]:
    """The codes that a code, a name or the beginning of codes (`TF01`) stands for; raises `UnknownCode`."""
    check = _by_key().get(wanted.lower())
    if check is not None:
        return frozenset({code(check)})
    begun = frozenset(filter(lambda one: one.startswith(wanted.upper()), map(code, CHECKS)))
    if not begun or not wanted:
        raise unknown(wanted)
    return begun


def unknown(wanted: str, kind: str = "finding") -> UnknownCode:
    """The error for a code or name that no finding has, with the nearest ones; `kind` is what else it might name."""
    keys = _by_key()
    near = difflib.get_close_matches(wanted.lower(), keys, n=3)
    hint = f"did you mean {' or '.join(dict.fromkeys(code(keys[key]) for key in near))}? " if near else ""
    return UnknownCode(f"no {kind} is called {wanted!r}; {hint}`toolfmt explain` lists them")


def _by_key() -> dict[str, ModuleType]:
    """Every check by its code and by its name, in lower case."""
    return {key.lower(): check for check in CHECKS for key in (code(check), name(check))}


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Everything that will go wrong and everything worth knowing, in order of code."""
    return tuple(_finding(check, found) for check in CHECKS for found in check.check(facts))


def _finding(check: ModuleType, found: Diagnostic) -> Finding:
    bad = found.severity or severity(check)
    healer = found.fixed_by if found.fixed_by is not None else fixed_by(check) if bad == "warning" else ""
    return Finding(code(check), name(check), _sentence(_cut(found.message)), found.line, _cut(found.fix), bad, healer)


def _cut(text: str) -> str:
    """No longer than what is meant to be read: a template may call a variable by a name of megabytes."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _sentence(text: str) -> str:
    """The text with one full stop at its end, or with what a quotation there ends with itself: `.`, `!`, `?`, `...`."""
    said = text if _TRAILS_OFF.search(text) else text.removesuffix(".")
    return said if said.endswith((".", "!", "?", "…")) else f"{said}."


def _stem(check: ModuleType) -> str:
    return check.__name__.rpartition(".")[2]
