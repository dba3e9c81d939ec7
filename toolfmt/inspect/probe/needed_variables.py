"""The variables of a template's own that a plain question needs: without them it throws, given as texts it does not."""

from __future__ import annotations

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.conversations import STAND_INS, user
from toolfmt.inspect.probe.renders import Renders

GIVEN = "Vq9given"
"""The text that a variable is given."""
USUAL = frozenset({"messages", "tools", "add_generation_prompt", *STAND_INS, "sep_token", "cls_token", "mask_token"})
"""The variables that every client gives, or that are tokens."""


def needed_variables(renders: Renders) -> tuple[str, ...]:
    """Their names, in the order of their lines; empty where a question is rendered without, or fails all the same."""
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
