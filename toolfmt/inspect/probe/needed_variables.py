"""Find the custom variables that a plain question needs: without them the template raises."""

from __future__ import annotations

from collections.abc import Mapping

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.conversations import PLACEHOLDERS, user
from toolfmt.inspect.probe.renders import Renders

GIVEN = "Vq9given"
"""The string that a variable is set to."""
USUAL = frozenset({"messages", "tools", "add_generation_prompt", *PLACEHOLDERS, "sep_token", "cls_token", "mask_token"})
"""Variables that every client passes, and special tokens."""


def needed_variables(renders: Renders) -> Mapping[str, str | list[str]]:
    """Return them in order of line, each with a value that is enough: a string, or an empty list for a loop.

    Empty if a question renders without them, or fails with them as well.
    """
    if not isinstance(renders.render(user()), TemplateError):
        return {}
    known = USUAL | set(renders.template.special_tokens)
    uses = [use for use in renders.template.variable_uses if use.name not in known]
    given: dict[str, str | list[str]] = {use.name: GIVEN for use in uses if "printed" in use.manners}
    if not given or isinstance(renders.given(given).render(user()), TemplateError):
        given = {use.name: [] for use in uses if "iterated" in use.manners} | given
        if not given or isinstance(renders.given(given).render(user()), TemplateError):
            return {}
    for name in list(given):
        fewer = {other: text for other, text in given.items() if other != name}
        if isinstance(renders.given(fewer).render(user()), str):
            given = fewer
    return {use.name: given[use.name] for use in uses if use.name in given}
