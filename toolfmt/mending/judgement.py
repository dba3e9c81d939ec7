"""Whether a second inspection says that a mend is one: the finding is gone, and nothing else is worse than before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from toolfmt.inspect.comparison import Change, Comparison, compare
from toolfmt.inspect.report import Report
from toolfmt.mending.remedies import everything

_TYPED = "calls of every type of value"
"""The conversation of a report's prompts whose arguments are no strings."""


def what_is_worse(before: Report, after: Report, codes: Collection[str], *, typed: bool = False) -> str:
    """Why `after` is no mend of `before` for the findings of these codes; empty where it is one.

    Where `typed`, calls with values that are no strings may come out otherwise.
    """
    comparison = compare(before, after)
    often = [Counter(finding.code for finding in everything(report)) for report in (before, after)]
    if not any(often[1][code] < often[0][code] for code in codes):
        return "the finding is still there"
    if comparison.came:
        return f"another finding appears: {comparison.came[0].code}"
    if unread := _unread(before, after):
        return f"calls are read back worse: {unread}"
    worse = next((change for change in comparison.changes if not _is_better(change)), None)
    if worse is not None:
        return f"something else changes: {worse.what}"
    return _changed_prompt(before, comparison, typed=typed)


def _is_better(change: Change) -> bool:
    """Whether an answer that was no yes is one now; a call may be rendered in another shape than before."""
    if not change.what.startswith(("capabilities.", "details.")) or change.a is None or change.b is None:
        return False
    was = change.a["answer"] == "yes" and change.what != "capabilities.tool_calls"
    return not was and change.b["answer"] == "yes"


def _unread(before: Report, after: Report) -> str:
    """What was read back of the calls that the template renders and is not any more; empty for nothing."""
    was, is_now = (
        {fault for evidence in report.format.evidence for fault in (*evidence.faults, *evidence.tolerated)}
        for report in (before, after)
    )
    return next(iter(sorted(is_now - was)), "")


def _changed_prompt(before: Report, comparison: Comparison, *, typed: bool) -> str:
    """The conversation whose prompt is now one that no conversation had before; empty where there is none."""
    right = {prompt.text[change.at :] for change in comparison.prompts for prompt in before.prompts.values()}
    for change in comparison.prompts:
        known = change.b == "" or any(text.startswith(change.b) for text in right)
        right_now = known or change.a_threw or (typed and change.conversation == _TYPED)
        if change.b_threw or not right_now:
            return f"the prompt of {change.conversation} changes"
    return ""
