"""The verdict of a report: whether a program can call tools with the model, as one word and a few short sentences.

`toolfmt.inspect.inspection` calls it with all findings; `--select` and `--ignore` do not change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolfmt._util.text_lists import listed, listed_first
from toolfmt.formats import default_format
from toolfmt.inspect.checks import is_about_parsing, is_about_selection, summary
from toolfmt.inspect.report.report import Finding, FormatDecision, RuntimeSupport, Verdict
from toolfmt.inspect.report.template_profile import Strategy
from toolfmt.inspect.runtimes.template_choice import PASS_OBJECTS

_MOST_NAMED = 2
_QUESTION = "TF003"
_ARGUMENTS = "TF014"
_READ_ELSEWHERE = "TF042"
_BY_TOOLFMT = ("render", "prompt")
_UNKNOWN = "unknown (no known format parses the calls that the template renders)"


def verdict(
    findings: Sequence[Finding],
    format: FormatDecision,
    strategy: Strategy,
    *,
    renders: bool,
    takes_longer_requests: bool = False,
    rejects_tools: bool = False,
    takes_objects: bool = False,
    support: Sequence[RuntimeSupport] = (),
) -> Verdict:
    """Return the verdict on a model, from all its findings, its call format and how tools reach its prompts.

    `renders` is whether its template can be rendered at all, `takes_longer_requests` whether it rejects a plain
    question, but not one with tools, a system message or its variables. `rejects_tools` is whether it raises if
    tools are sent, but not on a plain question, `takes_objects` whether it renders arguments that are objects.
    `support` is what each runtime uses.
    """
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        wrong = misled(errors, support)
        return Verdict("broken", _broken(errors, wrong, renders=renders, takes_longer_requests=takes_longer_requests))
    if strategy == "prompt":
        loses = "raises an error if tools are sent" if rejects_tools else "does not render tools"
        if any(finding.code == _READ_ELSEWHERE for finding in findings):
            loses = f"does not render the request's `tools`, but reads tools from elsewhere ({_READ_ELSEWHERE})"
        return Verdict(
            "prompt-only",
            f"The template {loses}. Tool calling works if the prompt describes them; "
            f"`toolfmt render` does this. Call format: {_requested(format)}.",
        )
    fixed = [finding for finding in findings if finding.severity == "warning" and finding.fixed_by in _BY_TOOLFMT]
    by_prompt = [finding for finding in fixed if finding.fixed_by == "prompt"]
    by_render = [finding for finding in fixed if finding.fixed_by == "render"]
    if by_render:
        servers_do_it = takes_objects and {finding.code for finding in fixed} == {_ARGUMENTS}
        prompt = f" `toolfmt render` fixes {_codes(by_prompt)} only with `--strategy prompt`." if by_prompt else ""
        who = "; `toolfmt render` does this"
        if servers_do_it:
            who = f". `toolfmt render` does this, and so do the chat endpoints of {listed(PASS_OBJECTS)}"
        without = "If not adapted" if servers_do_it else "Without `toolfmt render`"
        return Verdict(
            "adapted",
            f"Tool calling works if requests are adapted first{who}. Format: {_known(format)}. "
            f"{without}: {_named(by_render)}.{prompt}",
        )
    if by_prompt:
        return Verdict(
            "adapted",
            "Tool calling works if the system prompt describes the tools (`toolfmt render --strategy prompt`). "
            f"Format: {_known(format)}. Through the template: {_named(by_prompt)}.",
        )
    return Verdict("native", f"Tool calling works with the template as it is. Format: {_known(format)}.")


def misled(errors: Sequence[Finding], support: Iterable[RuntimeSupport]) -> tuple[str, ...]:
    """Return the runtimes that select a wrong parser by themselves, if these errors are about nothing else."""
    if not all(map(is_about_selection, errors)):
        return ()
    return tuple(one.runtime for one in support if one.right is False)


def _broken(errors: Sequence[Finding], misled: Sequence[str], *, renders: bool, takes_longer_requests: bool) -> str:
    """The errors by name. If no template can be rendered, nothing else matters."""
    if not renders:
        return f"No prompt can be rendered: {_named(errors)}. Use a chat template that works."
    if takes_longer_requests and {error.code for error in errors} == {_QUESTION}:
        return (
            f"Requests with only a user message are rejected ({_codes(errors)}); "
            "`toolfmt render` does not add what is missing."
        )
    if misled:
        select = "selects" if len(misled) == 1 else "select"
        return (
            f"Prompts can be rendered, but {listed(misled)} {select} a parser that misreads the calls: "
            f"{_named(errors)}. For other runtimes, use the settings that this report names."
        )
    if all(map(is_about_parsing, errors)):
        return f"Prompts can be rendered, but calls cannot be parsed reliably: {_named(errors)}."
    return f"Tool calling is not reliable: {_named(errors)}. Fix this first; `toolfmt render` cannot work around it."


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
