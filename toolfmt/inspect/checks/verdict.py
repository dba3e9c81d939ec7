"""The verdict of a report: whether a program can call tools with the model, as one word and a few short sentences.

`toolfmt.inspect.inspection` calls it with all findings; `--select` and `--ignore` do not change it. `for_runtimes`
makes it again for some runtimes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from toolfmt._util.text_lists import listed, listed_first
from toolfmt.formats import default_format
from toolfmt.inspect.checks import ALL_OUTCOMES, is_about_parsing, is_solved_by_settings, summary
from toolfmt.inspect.report.report import BY_TEMPLATE, Finding, FormatDecision, Report
from toolfmt.inspect.report.template_profile import Strategy
from toolfmt.inspect.report.verdicts import Advice, RuntimeVerdict, ToolsWord, Verdict, VerdictBasis
from toolfmt.inspect.runtimes.advice import EVERY_RUNTIME
from toolfmt.inspect.runtimes.runtime_verdicts import WORKING, runtime_verdicts
from toolfmt.inspect.runtimes.template_choice import RUNTIMES

_MOST_NAMED = 2
_QUESTION = "TF003"
_READ_ELSEWHERE = "TF042"
_PLAIN = VerdictBasis()
_REJECTED = f"Requests with only a user message are rejected ({_QUESTION})"
_BY_TOOLFMT = ("render", "prompt")
_UNKNOWN = "unknown (no known format parses the calls that the template renders)"


def verdict(
    findings: Sequence[Finding],
    format: FormatDecision,
    strategy: Strategy,
    advice: Sequence[Advice] = (),
    basis: VerdictBasis = _PLAIN,
    runtimes: Collection[str] = RUNTIMES,
) -> Verdict:
    """Return the verdict on a model in these runtimes, from all of its findings that concern them.

    `format` is that of its calls, `strategy` how tools reach its prompts, `advice` what to set in each runtime.
    """
    if set(runtimes) < set(RUNTIMES):
        findings = [finding for finding in findings if set(finding.runtimes) & set(runtimes)]

    def is_failing(finding: Finding) -> bool:
        return finding.severity == "error" and not (basis.takes_longer_requests and finding.code == _QUESTION)

    every = runtime_verdicts(findings, advice, is_solved_by_settings, is_failing)
    verdicts = {runtime: one for runtime, one in every.items() if runtime in runtimes}
    errors = [finding for finding in findings if finding.severity == "error"]
    failing = [runtime for runtime, one in verdicts.items() if one.status == "fails"]
    if len(failing) == len(verdicts):
        return Verdict("broken", _broken(errors, basis) if errors else _unsupported(verdicts), verdicts)
    word, sentence = _working(findings, format, strategy, basis, verdicts)
    return Verdict(word, " ".join(filter(None, (sentence, _exceptions(errors, verdicts)))), verdicts)


def for_runtimes(report: Report, names: Collection[str]) -> Report:
    """Return the report on the model in these runtimes: their findings, what to set in them, and the verdict on them.

    Names are those of `RUNTIMES`.
    """
    sections = report.sections
    findings, notes, ignored = (
        tuple(finding for finding in group if set(finding.runtimes) & set(names))
        for group in (report.findings, report.notes, report.ignored)
    )
    every = (*findings, *notes, *ignored)
    advice = tuple(one for one in sections.advice if one.runtime in (EVERY_RUNTIME, *names))
    support = tuple(one for one in sections.runtime_support if one.runtime in names)
    return replace(
        report,
        verdict=verdict(every, report.format, report.strategy, sections.advice, report.basis, names),
        findings=findings,
        notes=notes,
        ignored=ignored,
        runtimes={runtime: parser for runtime, parser in report.runtimes.items() if runtime in names},
        sections=replace(sections, advice=advice, runtime_support=support),
    )


def accepted_verdict(report: Report) -> Verdict:
    """Return the verdict on the model as if it did not have the findings that a configuration ignores.

    What only the template's comments ignore counts, because a template comes from a stranger. If the ignored finding is
    that the template drops the tools, the user accepts that the prompt describes them.
    """
    accepted = [finding for finding in report.ignored if finding.ignored_by != BY_TEMPLATE]
    if not accepted:
        return report.verdict
    by_template = [finding for finding in report.ignored if finding.ignored_by == BY_TEMPLATE]
    left, sections = (*report.findings, *report.notes, *by_template), report.sections
    names = tuple(report.verdict.runtimes) or RUNTIMES
    made = verdict(left, report.format, report.strategy, sections.advice, report.basis, names)
    if made.tools == "prompt-only" and any(ALL_OUTCOMES[finding.key].in_verdict for finding in accepted):
        failing = {name: one for name, one in made.runtimes.items() if one.status == "fails"}
        return replace(made, tools="native", runtimes=failing)
    return made


def _working(
    findings: Sequence[Finding],
    format: FormatDecision,
    strategy: Strategy,
    basis: VerdictBasis,
    verdicts: Mapping[str, RuntimeVerdict],
) -> tuple[ToolsWord, str]:
    """Return the verdict for the runtimes in which tools do not fail."""
    if strategy == "prompt":
        loses = "raises an error if tools are sent" if basis.rejects_tools else "does not render tools"
        if any(finding.code == _READ_ELSEWHERE for finding in findings):
            loses = f"does not render the request's `tools`, but reads tools from elsewhere ({_READ_ELSEWHERE})"
        return (
            "prompt-only",
            f"The template {loses}. Tool calling works if the prompt describes them; "
            f"`toolfmt render` does this. Call format: {_requested(format)}.",
        )
    if len(verdicts) < len(RUNTIMES) and not any(one.status in WORKING for one in verdicts.values()):
        return "adapted", f"{_not_working(verdicts)} Format: {_known(format)}."
    fixed = [finding for finding in findings if finding.severity == "warning" and finding.fixed_by in _BY_TOOLFMT]
    by_prompt = [finding for finding in fixed if finding.fixed_by == "prompt"]
    by_render = [finding for finding in fixed if finding.fixed_by == "render"]
    if by_render:
        affected = {runtime for finding in fixed for runtime in finding.runtimes}
        working = [runtime for runtime, one in verdicts.items() if one.status in WORKING]
        adapted = [runtime for runtime in working if runtime in affected]
        as_it_is = [runtime for runtime in working if runtime not in affected]
        first = "Tool calling works if requests are adapted first; `toolfmt render` does this."
        if as_it_is:
            first = f"Tool calling works in {listed(as_it_is)}"
            first += f", and in {listed(adapted)} if `toolfmt render` adapts requests." if adapted else "."
        prompt = f" `toolfmt render` fixes {_codes(by_prompt)} only with `--strategy prompt`." if by_prompt else ""
        return (
            "adapted",
            f"{first} Format: {_known(format)}. If not adapted: {_named(by_render)}.{prompt}",
        )
    if by_prompt:
        return (
            "adapted",
            "Tool calling works if the system prompt describes the tools (`toolfmt render --strategy prompt`). "
            f"Format: {_known(format)}. Through the template: {_named(by_prompt)}.",
        )
    return "native", f"Tool calling works with the template as it is. Format: {_known(format)}."


def _not_working(verdicts: Mapping[str, RuntimeVerdict]) -> str:
    """Return what is known of runtimes of which none works with settings alone."""
    texts, unknown = (
        [runtime for runtime, one in verdicts.items() if one.status == status]
        for status in ("tools as text", "unknown")
    )
    sentences = [f"In {listed(texts)}, calls arrive as text, which toolfmt's parser reads."] if texts else []
    sentences += [f"It is not confirmed that tool calling works in {listed(unknown)}."] if unknown else []
    return " ".join(sentences)


def _exceptions(errors: Sequence[Finding], verdicts: Mapping[str, RuntimeVerdict]) -> str:
    """Return sentences on the runtimes in which tools fail, and on those in which an error needs a setting."""
    if errors and {error.code for error in errors} == {_QUESTION}:
        return f"{_REJECTED}."
    failing = [runtime for runtime, one in verdicts.items() if one.status == "fails"]
    affected = [runtime for runtime in verdicts if any(runtime in error.runtimes for error in errors)]
    by_error = [runtime for runtime in failing if runtime in affected]
    others = [runtime for runtime in failing if runtime not in affected]
    settled = [runtime for runtime in affected if runtime not in failing]
    sentences = [f"It fails in {listed(by_error)}: {_named_in(errors, by_error)}."] if by_error else []
    sentences += [f"It fails in {listed(others)}."] if others else []
    if settled:
        needs = "needs" if len(settled) == 1 else "need"
        sentences.append(f"{listed(settled)} {needs} a setting (see below): {_named_in(errors, settled)}.")
    return " ".join(sentences)


def _named_in(findings: Iterable[Finding], runtimes: Collection[str]) -> str:
    return _named(finding for finding in findings if set(finding.runtimes) & set(runtimes))


def _broken(errors: Sequence[Finding], basis: VerdictBasis) -> str:
    """The errors by name. If no template can be rendered, nothing else matters."""
    if not basis.renders:
        return f"No prompt can be rendered: {_named(errors)}. Use a chat template that works."
    if basis.takes_longer_requests and {error.code for error in errors} == {_QUESTION}:
        return f"{_REJECTED}; `toolfmt render` does not add what is missing."
    if all(map(is_about_parsing, errors)):
        return f"Prompts can be rendered, but calls cannot be parsed reliably: {_named(errors)}."
    return f"Tool calling is not reliable: {_named(errors)}. Fix this first; `toolfmt render` cannot work around it."


def _unsupported(verdicts: Mapping[str, RuntimeVerdict]) -> str:
    """Return why tools fail in the runtimes if there is no error."""
    reasons = dict.fromkeys(one.settings for one in verdicts.values())
    return f"Tool calling fails in {listed(verdicts)}: {'; '.join(reasons)}."


def _named(findings: Iterable[Finding]) -> str:
    """The findings by name and code, each once."""
    names = dict.fromkeys(f"{summary(finding)} ({finding.code})" for finding in findings)
    return listed_first(list(names), _MOST_NAMED)


def _codes(findings: Iterable[Finding]) -> str:
    return listed(dict.fromkeys(finding.code for finding in findings))


def _known(format: FormatDecision) -> str:
    """The format of the calls that the template renders, and how certain it is."""
    if format.name is None:
        return _UNKNOWN
    if format.derived is not None:
        return f"derived from the calls that the template renders ({format.derived.proof})"
    trips = [one.summary for one in format.evidence if one.source == "verified" and one.format == format.name]
    verified = f"verified, {trips[0]}" if trips else ""
    if format.confidence == "declared" and not trips:
        rendered = next((one for one in format.evidence if one.source == "verified"), None)
        if rendered is not None:
            return f"{rendered.format} ({rendered.summary}), but the model's files declare {format.name}"
    certainty = {
        "declared": ", ".join(filter(None, ("declared by the model's files", verified))),
        "verified": verified or "verified",
        "signature": "detected from markers in the template, not verified",
        "model-type": "implied by the model type, not verified",
        "default": "the default, without evidence",
        "derived": "",
        "none": "",
    }[format.confidence]
    return f"{format.name} ({certainty})"


def _requested(format: FormatDecision) -> str:
    """The format that the system prompt requests."""
    if format.name is None or format.confidence in ("default", "none"):
        return f"{format.name or default_format().name} (toolfmt's default)"
    if format.derived is not None:
        return "derived from the calls that the template renders"
    return f"{format.name} (the model's own)"
