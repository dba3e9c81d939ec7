"""What to set in a runtime: the settings, stop strings, which markers are special tokens, which tools to leave out.

The text report and the web page share them. Every text is already `visible`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolfmt._util.text_lists import listed
from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.verdict import Level
from toolfmt.formats.prompting.tool_descriptions import RESULT_HEADING
from toolfmt.inspect.report.report import Report, Tokens
from toolfmt.inspect.report.verdicts import RuntimeStatus, RuntimeVerdict


@dataclass(frozen=True)
class RuntimeRow:
    """What is shown for a runtime; `typed` is whether the text is something to type. `status` may be empty."""

    runtime: str
    status: str
    level: Level
    text: str
    typed: bool
    remark: str


_LEVELS: Mapping[RuntimeStatus, Level] = {
    "works": "good",
    "works with": "good",
    "tools as text": "care",
    "unknown": "care",
    "fails": "bad",
}


def runtime_rows(report: Report) -> list[RuntimeRow]:
    """Return the status of each runtime and what to set there.

    Findings that remain and are shown are in the remark, and those that remain in every runtime in a last row.
    """
    verdicts = report.verdict.runtimes
    shown = {finding.code for finding in (*report.findings, *report.notes)}
    codes = [shown.intersection(one.codes) for one in verdicts.values()]
    everywhere = set.intersection(*codes) if len(codes) > 1 else set[str]()
    rows = []
    for one in report.sections.advice:
        verdict = verdicts.get(one.runtime, RuntimeVerdict(one.status, one.text))
        remaining = [code for code in verdict.codes if code in shown - everywhere]
        remark = "; ".join(filter(None, (one.remark, f"see {listed(remaining)}" if remaining else "")))
        rows.append(
            RuntimeRow(
                visible(one.runtime),
                verdict.status,
                _LEVELS[verdict.status],
                visible(verdict.settings),
                one.typed,
                visible(remark),
            )
        )
    if rows and everywhere:
        codes_of_all = [code for code in next(iter(verdicts.values())).codes if code in everywhere]
        rows.append(RuntimeRow("each of them", "", "care", f"see {listed(codes_of_all)}", False, ""))
    return rows


def invented_result(report: Report) -> str:
    """Return the additional stop string of a prompt that describes the tools: an invented tool result."""
    if report.strategy != "prompt" or report.template is None:
        return ""
    return f'"{RESULT_HEADING}" if the prompt describes the tools (stops a model that invents a tool result)'


def stops(report: Report) -> list[tuple[list[str], str]]:
    """Return the stop strings and their source. Separate if calls end with other strings than responses do."""
    of_calls = [visible(stop) for stop in report.profile.stop if stop in report.profile.stop_of_calls]
    others = [visible(stop) for stop in report.profile.stop if stop not in report.profile.stop_of_calls]
    if not of_calls:
        return [(others, "")]
    if not others:
        unknown = report.sections.details.get("stop")
        follows = visible(unknown.excerpts[0]) if unknown is not None and unknown.excerpts else ""
        if follows and unknown is not None and unknown.outcome == "inside":
            inside = f"a response ends with {follows}, but this is also after the reasoning or inside a call"
            return [(of_calls, f"after a call; {inside}, so the model has to stop at its own eos_token")]
        more = f"; if it does not, add {follows}, the first token of the next turn" if follows else ""
        nothing = "the template writes no end marker after a response, so the model has to stop at its own eos_token"
        return [(of_calls, f"after a call; {nothing}{more}")]
    return [(others, "after a response"), (of_calls, "after a call")]


def special_markers(report: Report) -> list[str]:
    """Return the markers that a parser needs and that are special tokens, which a detokenizer drops by default."""
    tokens = report.sections.tokens
    markers = () if tokens is None else tokens.markers
    # Stop strings are special nearly everywhere, and no parser needs them.
    return [visible(one.marker) for one in markers if one.special and one.kind != "stop"]


def leaving_out(tokens: Tokens | None) -> str:
    """Return which tools to leave out so that the rest fits into its share of the context. Empty if all fit."""
    if tokens is None or not tokens.leave_out or tokens.room is None:
        return ""
    if len(tokens.leave_out) == len(tokens.tools):
        return f"no tool fits into a quarter of the context ({tokens.room:,} tokens)"
    return f"leave out {', '.join(tokens.leave_out)} to stay within {tokens.room:,}"
