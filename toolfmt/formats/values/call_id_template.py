"""The form of the ids that a family's templates write for its calls: `call{number:05d}`, `functions.{name}:{number}`.

A form is data and may come from strangers, so nothing but these two placeholders is filled in, and a width is bounded.
"""

from __future__ import annotations

import re

_FORM = re.compile(r"(?:[^{}]|\{name\}|\{number(?::0?[0-9]{1,2}d)?\})*")


def check_id_form(form: str, parameter: str) -> None:
    """Raises `ValueError` for what is no form of ids; `parameter` says what is called so."""
    if not isinstance(form, str) or not _FORM.fullmatch(form):
        raise ValueError(
            f"{parameter} is {form!r:.80}, but an id consists of text, {{name}} and {{number}} or {{number:05d}}"
        )


def made_id(form: str, name: str, number: int) -> str:
    """The id of the call with this name and number, in a form that was checked."""
    return form.format(name=name, number=number)
