"""Find the comments of a template that ignore findings: `{# toolfmt: ignore[TF014, TF061] reason #}`.

A comment is not part of any prompt, so it does not change the model's behavior. Where it is in the template makes no
difference. `toolfmt.inspect.checks.suppressions` decides what it ignores.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import jinja2

from toolfmt.templates.engine.environment import environment

_OURS = re.compile(r"\s*toolfmt(?::|\s+ignore\s*\[)", re.IGNORECASE)
"""Also without the colon, which is then reported."""
_MOST_CODES = 100
"""Maximum number of codes in all comments of a template."""
_LONGEST_CODE, _LONGEST_REASON = 80, 300
_IGNORE = re.compile(r"\s*toolfmt:\s*ignore\s*\[([^\[\]]*)\][\s:–—-]*(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class IgnoreComment:
    """A comment for toolfmt: its line, the codes in it, and the reason.

    Without codes, it cannot be read, or `is_left_out` because the comments before it name too many.
    """

    line: int
    codes: tuple[str, ...]
    reason: str = ""
    is_left_out: bool = False


def ignore_comments(source: str) -> tuple[IgnoreComment, ...]:
    """Return the comments that begin with `toolfmt:`. Empty if the source cannot be split into tokens.

    Text in strings and in `{% raw %}` is not a comment.
    """
    try:
        comments = [(line, text) for line, kind, text in environment().lex(source) if kind == "comment"]
    except jinja2.TemplateError:
        return ()
    made: list[IgnoreComment] = []
    count = 0
    for line, text in comments:
        if _OURS.match(text):
            comment = _read(line, text)
            count += len(comment.codes) or 1
            if count > _MOST_CODES:
                return (*made, IgnoreComment(line, (), is_left_out=True))
            made.append(comment)
    return tuple(made)


def _read(line: int, text: str) -> IgnoreComment:
    found = _IGNORE.fullmatch(text)
    if found is None:
        return IgnoreComment(line, ())
    codes = dict.fromkeys(code.strip()[:_LONGEST_CODE] for code in found[1].split(","))
    return IgnoreComment(line, tuple(filter(None, codes)), _cut(" ".join(found[2].split())))


def _cut(reason: str) -> str:
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 1]}…"
