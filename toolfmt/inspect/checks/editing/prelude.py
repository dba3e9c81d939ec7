"""Clauses before a template that cannot be fixed in place: they convert its messages and tools to the accepted form.

They print nothing: every line is a statement, and its newline is dropped (`trim_blocks`, with which chat templates are
rendered). A message that no clause changes stays the same object. llama.cpp's engine has no `dict`
(common/jinja/value.cpp, November 2026): a clause that needs it fails there, but only on messages that it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Clause(NamedTuple):
    """Statements before the template: for each `message` of a loop over the messages, or once."""

    text: str
    each_message: bool = True


_BEGIN = """\
{%- set taken = namespace(messages=[]) %}
{%- for message in messages %}
"""
_END = """\
    {%- set taken.messages = taken.messages + [message] %}
{%- endfor %}
{%- set messages = taken.messages %}
"""


def with_prelude(clauses: Sequence[Clause], body: str) -> str:
    """The template with these clauses before it; the template itself if there are none."""
    about_messages = [clause.text for clause in clauses if clause.each_message]
    loop = _BEGIN + "".join(about_messages) + _END if about_messages else ""
    return "".join(clause.text for clause in clauses if not clause.each_message) + loop + body
