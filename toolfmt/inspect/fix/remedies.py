"""What may heal a finding, by its code, and why the others are left as they are.

A remedy is edits of the template's own places, or a clause before it (`prelude.py`); nothing of it counts before it is
proven. `of` hands out the remedies of a report's findings, in the order in which they are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from toolfmt.inspect.checks import about_files
from toolfmt.inspect.fix import edits, prelude
from toolfmt.inspect.fix.conversations import Variant
from toolfmt.inspect.fix.edits import Edits
from toolfmt.inspect.report.report import Finding, Report


@dataclass(frozen=True)
class TemplateFix:
    """What may heal the findings of these codes: `variants` are the ways of writing that they are about.

    Where `typed`, it is values of calls that are no strings that come out otherwise afterwards.
    """

    codes: tuple[str, ...]
    variants: tuple[Variant, ...] = ()
    edits: Edits | None = None
    clause: str = ""
    typed: bool = False


_ARGUMENTS = ("TF014", "TF015", "TF016")
_CONTENT = ("TF017", "TF018")
_REMEDIES = (
    TemplateFix(_ARGUMENTS, (), edits.arguments_as_json),
    TemplateFix(_CONTENT, ("content-null",), edits.content_or_nothing, prelude.CONTENT_NULL),
    TemplateFix(("TF009",), ("calls-null", "calls-empty"), edits.calls_or_none),
    TemplateFix(("TF010",), ("tools-empty",), edits.tools_or_none, prelude.TOOLS),
    TemplateFix(("TF049",), (), edits.values_as_json, typed=True),
    TemplateFix(("TF036",), ("developer",), edits.developer_as_system, prelude.DEVELOPER),
    TemplateFix(("TF037",), ("parts",), None, prelude.PARTS),
)

_WHY_NOT = {
    "TF016": "a template cannot read JSON, and this one needs the arguments one by one",
    "TF004": "the date is a part of what the template says; give it a fixed time, or a variable that it reads",
    "TF019": "where a second call would stand cannot be read off the template",
    "TF030": "where the text would stand cannot be read off the template",
    "TF044": "the model may have been trained on definitions that are written so",
    "TF045": "the model may have been trained on a prompt that ends so",
}
_NO_REMEDY = "no small change of the template is known to heal it"
_NO_SETTING = "no setting that --fix writes heals it"


def of(report: Report, codes: frozenset[str]) -> Iterator[TemplateFix]:
    """The remedies of the report's findings and notes of these codes."""
    told = {finding.code for finding in everything(report)} & codes
    for remedy in _REMEDIES:
        if told & set(remedy.codes):
            yield remedy


def variants(remedy: TemplateFix, report: Report) -> tuple[Variant, ...]:
    """The ways of writing that the remedy is about: of arguments, the form that the template does not take; of content
    the one that the finding shows, null or no content at all.
    """
    shape = report.profile.shape
    if remedy.codes == _CONTENT and report.capabilities["content_null"].answer == "yes":
        return ("content-absent",)
    if remedy.codes == _ARGUMENTS:
        return ("arguments-object",) if shape is not None and shape.arguments == "string" else ("arguments-string",)
    return remedy.variants


def may_change(remedy: TemplateFix, report: Report) -> tuple[str, ...]:
    """Words in the names of the conversations whose prompts a report shows otherwise once the remedy is taken."""
    objects = "arguments-object" in variants(remedy, report)
    return ("call",) if objects else ("every type of value",) if remedy.typed else ()


def known_reason(code: str, report: Report) -> str:
    """Why a finding of this code is not healed; empty where nothing is known of it."""
    if code == "TF036" and report.capabilities["system"].answer != "yes":
        return "a message of the role system does not come out either"
    return _WHY_NOT.get(code, "")


def why_not(finding: Finding, report: Report) -> str:
    """Why a finding remains that no change of the template was tried for: where it is about a setting, what to set."""
    a_setting = finding.fixed_by == "setting" or about_files(finding.code)
    return known_reason(finding.code, report) or (f"{_NO_SETTING}: {finding.fix}" if a_setting else _NO_REMEDY)


def everything(report: Report) -> tuple[Finding, ...]:
    """Findings and notes."""
    return (*report.findings, *report.notes)
