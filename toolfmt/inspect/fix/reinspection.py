"""Whether a second inspection says that a mend is one: the finding is gone, and nothing else is worse than before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from toolfmt.inspect.comparison import Comparison, ReportChange, compare, is_below
from toolfmt.inspect.fix.known_fixes import everything
from toolfmt.inspect.report.report import FindingKey, Report

_ANY_YES = ("capabilities.tool_calls", "safety.content_kept")
"""Answers that are as good for any reason: a call in another shape, a text that is looked for no more."""


def what_is_worse(before: Report, after: Report, keys: Collection[FindingKey], may_change: Collection[str] = ()) -> str:
    """Why `after` is no mend of `before` for the findings with these keys; empty where it is one.

    The prompts of conversations whose names hold one of the words `may_change` may be others.
    """
    comparison = compare(before, after)
    often = [Counter(finding.key for finding in everything(report)) for report in (before, after)]
    if not any(often[1][key] < often[0][key] for key in keys):
        return "the finding is still there"
    came = (*comparison.behaviour.came, *comparison.settings.came)
    if came:
        return f"another finding appears: {came[0].code}"
    if unread := _unread(before, after):
        return f"calls are read back worse: {unread}"
    # What to set in a runtime follows from everything else.
    changes = [*comparison.behaviour.changes, *comparison.settings.changes]
    changes = [change for change in changes if not is_below(change.what, ["runtimes"])]
    worse = next((change for change in changes if not _is_better(change)), None)
    if worse is not None:
        return f"something else changes: {worse.what}"
    return _changed_prompt(before, comparison, may_change)


def _is_better(change: ReportChange) -> bool:
    """Whether an answer that was no yes is one now, or is yes for another reason where that is all that is asked."""
    if not change.what.startswith(("capabilities.", "details.", "safety.")) or change.a is None or change.b is None:
        return False
    was_no = change.a["answer"] != "yes" and not change.what.startswith("safety.")
    return change.b["answer"] == "yes" and (was_no or change.what in _ANY_YES)


def _unread(before: Report, after: Report) -> str:
    """What was read back of the calls that the template renders and is not any more; empty for nothing."""
    was, is_now = (
        {fault for evidence in report.format.evidence for fault in (*evidence.faults, *evidence.tolerated)}
        for report in (before, after)
    )
    return next(iter(sorted(is_now - was)), "")


def _changed_prompt(before: Report, comparison: Comparison, may_change: Collection[str]) -> str:
    """The conversation whose prompt is now one that no conversation had before; empty where there is none."""
    right = {prompt.text[change.at :] for change in comparison.prompts for prompt in before.prompts.values()}
    for change in comparison.prompts:
        meant = change.a_threw or any(word in change.conversation for word in may_change)
        known = change.b == "" or any(text.startswith(change.b) for text in right)
        if change.b_threw or not (known or meant):
            return f"the prompt of {change.conversation} changes"
    return ""
