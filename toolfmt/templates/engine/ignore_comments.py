"""Find the comments of a template that ignore findings: `{# toolfmt: ignore[TF014, TF061] reason #}`.

A comment is not part of any prompt, so it does not change the model's behavior. Where it is in the template makes no
difference. `toolfmt.inspect.checks.suppressions` decides what it ignores.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import jinja2

from toolfmt.templates.engine.environment import environment

_OURS = re.compile(r"\s*toolfmt:", re.IGNORECASE)
_IGNORE = re.compile(r"\s*toolfmt:\s*ignore\s*\[([^\[\]]*)\][\s:–—-]*(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class IgnoreComment:
    """A comment for toolfmt: its line, the codes in it, and the reason. Without codes, it cannot be read."""

    line: int
    codes: tuple[str, ...]
    reason: str


def ignore_comments(source: str) -> tuple[IgnoreComment, ...]:
    """Return the comments that begin with `toolfmt:`. Empty if the source cannot be split into tokens.

    Text in strings and in `{% raw %}` is not a comment.
    """
    try:
        comments = [(line, text) for line, kind, text in environment().lex(source) if kind == "comment"]
    except jinja2.TemplateError:
        return ()
    return tuple(_read(line, text) for line, text in comments if _OURS.match(text))


def _read(line: int, text: str) -> IgnoreComment:
    found = _IGNORE.fullmatch(text)
    if found is None:
        return IgnoreComment(line, (), "")
    codes = dict.fromkeys(code.strip() for code in found[1].split(","))
    return IgnoreComment(line, tuple(filter(None, codes)), " ".join(found[2].split()))
