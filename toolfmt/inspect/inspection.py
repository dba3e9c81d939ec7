"""Inspect a model: probe the template that is used, and create sections and findings from the results.

`inspect_files` takes the result of `toolfmt.templates.load_files`, `inspect_template` the text of a template. Both
return a `Report` and never raise because of the template. The template's code runs in this process.
`toolfmt.model.jobs` runs `inspect_files` in a process with limits; if that is terminated, `inspect_stopped` creates
the report.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from toolfmt.errors import LimitHit
from toolfmt.inspect import checks
from toolfmt.inspect.checks.suppressions import ignored_by_comments
from toolfmt.inspect.checks.verdict import verdict
from toolfmt.inspect.facts import NO_OPTIONS, Facts, InspectionOptions
from toolfmt.inspect.probe.tokenizer_file import TokenizerFile, find_tokenizer
from toolfmt.inspect.profiling import facts_of
from toolfmt.inspect.report.report import Report, Sections, TemplateInfo
from toolfmt.inspect.report.sentinels import has_sample_words
from toolfmt.inspect.report.verdicts import VerdictBasis
from toolfmt.inspect.runtimes.advice import advice, runtimes
from toolfmt.inspect.runtimes.runtime_support import runtime_support
from toolfmt.inspect.sections.branches.branch_effects import branches
from toolfmt.inspect.sections.claims import checked
from toolfmt.inspect.sections.definitions.parts import definitions
from toolfmt.inspect.sections.portability import portability
from toolfmt.inspect.sections.response_starts import response_starts
from toolfmt.inspect.sections.safety import safety
from toolfmt.inspect.sections.sample import sample
from toolfmt.inspect.sections.sample_prompts import prompts
from toolfmt.inspect.sections.stability import stability
from toolfmt.inspect.sections.tokens import tokens
from toolfmt.inspect.sections.turns import details
from toolfmt.inspect.sections.variables import variables
from toolfmt.inspect.token_names import with_token_names
from toolfmt.templates import ModelFiles, template_alone


def inspect_files(files: ModelFiles, options: InspectionOptions = NO_OPTIONS) -> Report:
    """Return the report on a model directory."""
    return inspect_read(files, options, find_tokenizer(files.home))


def inspect_stopped(files: ModelFiles, options: InspectionOptions, hit: LimitHit) -> Report:
    """Return the report on a model directory whose inspection hit this limit.

    It uses neither the template's code nor the tokenizer, which may have caused the limit to be hit.
    """
    return _judged(files, options, None, hit)


def inspect_template(
    source: str, *, model_type: str | None = None, name: str = "template", options: InspectionOptions = NO_OPTIONS
) -> Report:
    """Return the report on the text of one template; `name` is its name in messages."""
    return inspect_read(replace(template_alone(source, Path(name)), model_type=model_type), options, None)


def inspect_read(files: ModelFiles, options: InspectionOptions, tokenizer: TokenizerFile | None = None) -> Report:
    """Return the report on a model directory with this tokenizer; opens no file if that was loaded before."""
    try:
        return _judged(files, options, tokenizer, None)
    except LimitHit as hit:
        return _judged(files, options, tokenizer, hit)


def _judged(
    files: ModelFiles, options: InspectionOptions, tokenizer: TokenizerFile | None, hit: LimitHit | None
) -> Report:
    """Return the report; after a limit was hit, the template is not run again."""
    facts = facts_of(files, tokenizer, hit, options)
    facts = replace(facts, sections=_sections(facts))
    facts = replace(facts, sections=replace(facts.sections, branches=branches(facts)))
    facts = replace(facts, sections=replace(facts.sections, safety=checked(facts)))
    found = ignored_by_comments(facts, checks.findings(facts))
    shown = [finding for finding in found if not finding.ignored_by]
    facts = replace(facts, sections=replace(facts.sections, advice=advice(facts, found)))
    basis = VerdictBasis(facts.renders is not None, facts.takes_longer_requests, facts.rejects_tools)
    report = Report(
        path=str(files.directory),
        verdict=verdict(
            found,
            facts.decided.decision,
            facts.profile.strategy,
            facts.sections.advice,
            basis,
        ),
        model_type=files.model_type,
        template=_template_info(facts),
        capabilities=facts.capabilities,
        format=facts.decided.decision,
        strategy=facts.profile.strategy,
        runtimes=runtimes(facts),
        findings=tuple(finding for finding in shown if finding.severity != "note"),
        notes=tuple(finding for finding in shown if finding.severity == "note"),
        ignored=tuple(finding for finding in found if finding.ignored_by),
        sections=facts.sections,
        profile=facts.profile,
        prompts=prompts(facts),
        basis=basis,
    )
    return with_token_names(report, facts)


def _sections(facts: Facts) -> Sections:
    """Return the sections of the report, one module each, except the advice, which depends on the findings."""
    return Sections(
        details=details(facts),
        definitions=definitions(facts),
        variables=variables(facts),
        stability=stability(facts),
        safety=safety(facts),
        tokens=tokens(facts),
        engines=portability(facts),
        response_starts=response_starts(facts),
        sample=sample(replace(facts, renders=facts.marked)),
        runtime_support=runtime_support(facts),
    )


def _template_info(facts: Facts) -> TemplateInfo | None:
    template = facts.template
    if template is None:
        return None
    return TemplateInfo(
        template.origin,
        template.name,
        template.sha256,
        facts.profile.variables,
        facts.files.reason(True),
        has_sample_words(template.text),
    )
