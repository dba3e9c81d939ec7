"""The answer on top of a report: whether the model can be used with tools, how sure that is, and how much was found.

The text and the page of a report both begin with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from toolfmt.inspect.report import Report
from toolfmt.printing.findings import by_severity


@dataclass(frozen=True)
class Verdict:
    """The answer on top: how good it is, the word for it, and one sentence."""

    level: Literal["good", "care", "bad"]
    word: str
    sentence: str


def verdict(report: Report) -> Verdict:
    """Whether the model can be used with tools, in what format, and how sure that is."""
    if report.template is None:
        return Verdict("bad", "No", "there is no chat template, so nothing turns messages and tools into a prompt.")
    if is_broken(report):
        return Verdict("bad", "No", "the chat template cannot be rendered at all.")
    speaks = _speaks(report)
    if report.strategy == "prose":
        sentence = f"the template does not show tools, so they have to be described in words; {speaks}."
        return Verdict("bad" if report.format.name is None else "care", "Not by its template", sentence)
    errors = sum(finding.severity == "error" for finding in report.findings)
    if report.format.name is None:
        return Verdict("bad", "Not as it is", f"the template shows the tools to the model, but {speaks}.")
    sentence = f"the template shows the tools to the model, and {speaks}"
    if errors:
        return Verdict("care", "With care", f"{sentence}; but something that a request holds is lost or refused.")
    if report.format.confidence not in ("declared", "verified"):
        return Verdict("care", "Probably", f"{sentence}.")
    return Verdict("good", "Yes", f"{sentence}.")


def is_broken(report: Report) -> bool:
    """Whether the template fails on everything."""
    return all(answer.answer == "error" for answer in report.capabilities.values())


def _speaks(report: Report) -> str:
    """The format, and how sure it is."""
    decision = report.format
    if decision.name is None:
        return "no known format reads the calls it renders"
    proofs = [item for item in decision.evidence if item.source == "verified" and item.format == decision.name]
    proof = proofs[0].summary if proofs else ""
    sure = {
        "declared": "which the model's own files declare" + (f" and rendering confirms ({proof})" if proof else ""),
        "verified": f"which is proven: {proof}",
        "signature": "which the text of the template tells, though no call proves it",
        "model-type": "which only the model type tells",
        "default": "which is assumed, since nothing tells it",
        "none": "of which nothing is known",
    }[decision.confidence]
    return f"calls are written in the format {decision.name}, {sure}"


def counts(report: Report) -> str:
    """How much was found, the worst first, and what the caller did not want to be told."""
    counted = {severity: len(found) for severity, found in by_severity((*report.findings, *report.notes)).items()}
    told = [f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counted.items() if count]
    if report.left_out:
        told.append(f"{report.left_out} left out by --select or --ignore")
    return ", ".join(told) if told else "nothing was found that will go wrong"
