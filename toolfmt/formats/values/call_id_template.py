"""Templates of call ids, as a family's chat templates write them: `call{number:05d}`, `functions.{name}:{number}`.

A template may come from an untrusted file. So only these two placeholders are allowed, and the width is limited.
"""

from __future__ import annotations

import re

_FORM = re.compile(r"(?:[^{}]|\{name\}|\{number(?::0?[0-9]{1,2}d)?\})*")


def check_id_form(form: str, parameter: str) -> None:
    """Raise `ValueError` unless `form` is a template of call ids. The message starts with the name `parameter`."""
    if not isinstance(form, str) or not _FORM.fullmatch(form):
        raise ValueError(
            f"{parameter} is {form!r:.80}, but an id consists of text, {{name}} and {{number}} or {{number:05d}}"
        )


def format_call_id(form: str, name: str, number: int) -> str:
    """Return the id of a call.

    Args:
        form: A template that `check_id_form` accepts.
        name: The tool's name.
        number: The number of the call.
    """
    return form.format(name=name, number=number)
