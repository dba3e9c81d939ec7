"""What is written before a template that cannot be mended in its midst: its messages and tools, as it takes them.

Nothing of it is printed: every line is a statement, and the line end behind it goes with it (`trim_blocks`, which chat
templates are rendered with). A message that no clause is about stays the same object. llama.cpp's engine has no `dict`
(common/jinja/value.cpp, November 2026): there a clause that needs it fails on the messages it is about, on no other.
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
