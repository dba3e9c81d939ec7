"""The verdict of a report: whether a program can call tools with the model, in a word and a sentence.

`toolfmt.inspect.inspection` asks once all findings are there; what a caller selects of them later changes nothing here.
The sentence says what works, what does not and what to do, for somebody who reads nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolfmt._util.text_lists import listed_first
from toolfmt.formats import default_format
from toolfmt.inspect.checks import is_about_parsing, summary
from toolfmt.inspect.report.report import Finding, FormatDecision, Verdict
from toolfmt.inspect.report.template_profile import Strategy

_MOST_NAMED = 2
_BY_TOOLFMT = ("render", "prompt")


def verdict(findings: Sequence[Finding], format: FormatDecision, strategy: Strategy, *, renders: bool) -> Verdict:
    """The verdict on all findings of a model, the format of its calls, and how tools go into its prompts; `renders` is
    whether its template can be rendered at all.
    """
    errors = [finding for finding in findings if finding.severity == "error"]
    healed = [finding for finding in findings if finding.severity == "warning" and finding.fixed_by in _BY_TOOLFMT]
    if errors:
        return Verdict("broken", _broken(errors, renders=renders))
    if strategy == "prompt":
        return Verdict(
            "prompt-only",
            "The template shows the model no tools. Described in words, as toolfmt's render does, they work; "
            f"{_asked_for(format)}.",
        )
    in_words = [finding for finding in healed if finding.fixed_by == "prompt"]
    if in_words and len(in_words) == len(healed):
        return Verdict(
            "adapted",
            f"Tools work through the template, but for {_named(healed)}, which toolfmt's render heals with the "
            f"strategy prompt; {_speaks(format)}.",
        )
    if healed:
        others = [finding for finding in healed if finding not in in_words]
        prose = f"; against {_named(in_words)} only its strategy prompt helps" if in_words else ""
        return Verdict(
            "adapted",
            f"Tools work through the template with what toolfmt's render adapts; {_speaks(format)}. "
            f"Without it, expect {_named(others)}{prose}.",
        )
    return Verdict("native", f"Tools work through the template as it is; {_speaks(format)}.")


def _broken(errors: Sequence[Finding], *, renders: bool) -> str:
    """The errors, by name; if no template renders, nothing else matters."""
    if not renders:
        return f"Nothing turns messages and tools into a prompt: {_named(errors)}. Put a template there that does."
    if all(map(is_about_parsing, errors)):
        return (
            f"Tools go into the prompt, but the calls are not to be relied on: {_named(errors)}. What follows says "
            "which parser or which calls that is about; the prompt itself can be rendered."
        )
    return f"Not to be relied on as it is: {_named(errors)}. Mend that first: toolfmt's render does not get round it."


def _named(findings: Iterable[Finding]) -> str:
    """The findings by name and code, each once."""
    told = dict.fromkeys(f"{summary(finding)} ({finding.code})" for finding in findings)
    return listed_first(list(told), _MOST_NAMED)


def _speaks(format: FormatDecision) -> str:
    """The format that the model writes calls in, and how sure that is."""
    if format.name is None:
        return "no known format reads the calls that it renders"
    if format.derived is not None:
        return f"no known format reads the calls that it renders, and one was derived from them, {format.derived.proof}"
    proofs = [one.summary for one in format.evidence if one.source == "verified" and one.format == format.name]
    proven = f" ({proofs[0]})" if proofs else ""
    sure = {
        "declared": f"as the model's files declare{proven}",
        "verified": f"which is proven{proven}",
        "signature": "by the words of the template; no call proves it",
        "model-type": "by the model type alone",
        "default": "which is a guess: nothing tells it",
        "derived": "",
        "none": "",
    }[format.confidence]
    return f"calls are written in the format {format.name}, {sure}"


def _asked_for(format: FormatDecision) -> str:
    """The format that calls are then asked for in."""
    if format.name is None or format.confidence in ("default", "none"):
        return f"calls are asked for in the format {format.name or default_format().name}, the most widespread one"
    if format.derived is not None:
        return "calls are asked for in the format that was derived from those that it renders"
    return f"calls are asked for in the model's own format, {format.name}"
