"""What is written before a template that cannot be mended in its midst: its messages and tools, as it takes them.

Nothing of it is printed: every line is a statement, and the line end behind it goes with it (`trim_blocks`, which chat
templates are rendered with). A message that no clause is about stays the same object. llama.cpp's engine has no `dict`
(common/jinja/value.cpp, November 2026): there a clause that needs it fails on the messages it is about, on no other.
"""

from __future__ import annotations

from collections.abc import Sequence

TOOLS = "{%- set tools = tools or none %}\n"
"""An empty list of tools as none."""

CONTENT_NULL = """\
    {%- if message.content is none %}
        {%- set message = dict(message, content='') %}
    {%- endif %}
"""
DEVELOPER = """\
    {%- if message.role == 'developer' %}
        {%- set message = {'role': 'system', 'content': message.content} %}
    {%- endif %}
"""
PARTS = """\
    {%- if message.role != 'tool' and message.content is defined and message.content is sequence
           and message.content is not string and message.content is not mapping
           and not (message.content | rejectattr('type', 'equalto', 'text') | list) %}
        {%- set message = dict(message, content=message.content | map(attribute='text') | join('\\n')) %}
    {%- endif %}
"""

_BEGIN = """\
{%- set taken = namespace(messages=[]) %}
{%- for message in messages %}
"""
_END = """\
    {%- set taken.messages = taken.messages + [message] %}
{%- endfor %}
{%- set messages = taken.messages %}
"""


def with_prelude(clauses: Sequence[str], body: str) -> str:
    """The template with these clauses before it; the template itself where there are none."""
    about_messages = [clause for clause in clauses if clause != TOOLS]
    loop = _BEGIN + "".join(about_messages) + _END if about_messages else ""
    return (TOOLS if TOOLS in clauses else "") + loop + body
