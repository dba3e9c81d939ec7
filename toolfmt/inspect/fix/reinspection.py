"""Check with a second inspection that a fix removes the finding and makes nothing worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from toolfmt.inspect.comparison import Comparison, ReportChange, compare, is_below
from toolfmt.inspect.fix.known_fixes import everything
from toolfmt.inspect.report.report import FindingKey, Report

_ANY_YES = ("capabilities.tool_calls", "safety.content_kept")
"""Answers that are equally good for any reason: a call in another shape, a text that is no longer tested for."""


def what_is_worse(before: Report, after: Report, keys: Collection[FindingKey], may_change: Collection[str] = ()) -> str:
    """Return why `after` does not fix the findings with these keys in `before`; empty if it does.

    Prompts of conversations may change if their names contain one of the words in `may_change`.
    """
    comparison = compare(before, after)
    often = [Counter(finding.key for finding in everything(report)) for report in (before, after)]
    if not any(often[1][key] < often[0][key] for key in keys):
        return "the known fix does not remove the finding"
    came = (*comparison.behavior.added, *comparison.settings.added)
    if came:
        return f"another finding appears: {came[0].code}"
    if unread := _unread(before, after):
        return f"calls are read back worse: {unread}"
    # The settings of runtimes depend on everything else.
    changes = [*comparison.behavior.changes, *comparison.settings.changes]
    changes = [change for change in changes if not is_below(change.what, ["runtimes"])]
    worse = next((change for change in changes if not _is_better(change)), None)
    if worse is not None:
        return f"something else changes: {worse.what}"
    return _changed_prompt(before, comparison, may_change)


def _is_better(change: ReportChange) -> bool:
    """Return whether an answer is now `yes` and was not, or is `yes` for another reason if any reason is fine.

    Another template engine may render more conversations, if no more of them differ.
    """
    if change.what.startswith("portability.") and change.a is not None and change.b is not None:
        was, is_now = (one["renders"] - one["same"] for one in (change.a, change.b))
        return bool(is_now <= was and change.b["renders"] >= change.a["renders"])
    if not change.what.startswith(("capabilities.", "details.", "safety.")) or change.a is None or change.b is None:
        return False
    was_no = change.a["answer"] != "yes" and not change.what.startswith("safety.")
    return change.b["answer"] == "yes" and (was_no or change.what in _ANY_YES)


def _unread(before: Report, after: Report) -> str:
    """Return a fault or tolerance that the second report has and the first has not, or an empty string."""
    was, is_now = (
        {problem for evidence in report.format.evidence for problem in (*evidence.problems, *evidence.tolerated)}
        for report in (before, after)
    )
    return next(iter(sorted(is_now - was)), "")


def _changed_prompt(before: Report, comparison: Comparison, may_change: Collection[str]) -> str:
    """Return the conversation whose new prompt no conversation had before; empty without one."""
    right = {prompt.text[change.at :] for change in comparison.prompts for prompt in before.prompts.values()}
    for change in comparison.prompts:
        expected = change.a_threw or any(word in change.conversation for word in may_change)
        known = change.b == "" or any(text.startswith(change.b) for text in right)
        if change.b_threw or not (known or expected):
            return f"the prompt of {change.conversation} changes"
    return ""
