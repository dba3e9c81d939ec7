"""Ignore the findings that comments of the template name: `{# toolfmt: ignore[TF014] reason #}`.

`toolfmt.inspect.inspection` calls `ignored_by_comments` with all findings. The verdict does not change. A template may
come from a stranger, so it cannot ignore errors and findings that are `PROTECTED`, nor several at once by a prefix or a
severity.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from toolfmt.inspect.checks import (
    ALL_OUTCOMES,
    UnknownCode,
    findings,
    is_protected,
    keys_of,
    needs_a_package,
    tf095_ignore_comment,
)
from toolfmt.inspect.facts import Facts, IgnoreProblem
from toolfmt.inspect.report.report import BY_TEMPLATE, Finding, FindingKey
from toolfmt.templates.engine.ignore_comments import IgnoreComment, ignore_comments

_PREFIX = re.compile(r"TF\d{0,2}", re.IGNORECASE)


def ignored_by_comments(facts: Facts, found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings with those marked that a comment ignores, and findings about comments that ignore nothing.

    If several comments name a finding, the first one counts.
    """
    present = {finding.key for finding in found}
    errors = {finding.key for finding in found if finding.severity == "error"}
    by_key: dict[FindingKey, IgnoreComment] = {}
    problems: list[IgnoreProblem] = []
    for comment in ignore_comments("" if facts.template is None else facts.template.text):
        if not comment.codes:
            problems.append(IgnoreProblem(comment.line, "", "too many" if comment.is_left_out else "unreadable"))
        for code in comment.codes:
            try:
                keys = _keys(code)
            except UnknownCode as error:
                problems.append(IgnoreProblem(comment.line, code, "unknown", str(error)))
                continue
            used = (keys & present) - by_key.keys()
            if errors & keys or any(map(is_protected, keys)):
                problems.append(IgnoreProblem(comment.line, code, "protected"))
            elif used:
                by_key |= dict.fromkeys(used, comment)
            elif _is_decided(facts, keys):
                problems.append(IgnoreProblem(comment.line, code, "unused"))
    marked = (
        replace(one, ignored_by=BY_TEMPLATE, reason=by_key[one.key].reason) if one.key in by_key else one
        for one in found
    )
    return (*marked, *findings(replace(facts, ignore_problems=tuple(problems)), [tf095_ignore_comment]))


def _keys(code: str) -> frozenset[FindingKey]:
    if _PREFIX.fullmatch(code):
        raise UnknownCode(f"{code!r} is the beginning of several codes")
    return keys_of(code)


def _is_decided(facts: Facts, keys: frozenset[FindingKey]) -> bool:
    """Return whether the inspection would report these findings if the template had them.

    Some findings need the files next to a template, or an optional package. Without renders, nothing is known.
    """
    has_files = facts.files.kind == "directory" or not any(ALL_OUTCOMES[key].about_files for key in keys)
    return facts.renders is not None and has_files and not any(map(needs_a_package, keys))
