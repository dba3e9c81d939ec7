"""Find the custom variables that a plain question needs: without them the template raises."""

from __future__ import annotations

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.conversations import PLACEHOLDERS, user
from toolfmt.inspect.probe.renders import Renders

GIVEN = "Vq9given"
"""The string that a variable is set to."""
USUAL = frozenset({"messages", "tools", "add_generation_prompt", *PLACEHOLDERS, "sep_token", "cls_token", "mask_token"})
"""Variables that every client passes, and special tokens."""


def needed_variables(renders: Renders) -> tuple[str, ...]:
    """Return their names in order of line. Empty if a question renders without them, or fails with them as well."""
    if not isinstance(renders.render(user()), TemplateError):
        return ()
    known = USUAL | set(renders.template.special_tokens)
    uses = [use for use in renders.template.variable_uses if use.name not in known]
    given = dict.fromkeys((use.name for use in uses if "printed" in use.manners), GIVEN)
    if not given or isinstance(renders.given(given).render(user()), TemplateError):
        return ()
    for name in list(given):
        fewer = {other: text for other, text in given.items() if other != name}
        if isinstance(renders.given(fewer).render(user()), str):
            given = fewer
    return tuple(given)
