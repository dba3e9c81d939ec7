"""What a message with a role that chat APIs do not define changes, apart from its own text."""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.report.report import Branch
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.sections.branches import effects
from toolfmt.inspect.sections.branches.branch_renders import BranchRender, Taking
from toolfmt.inspect.sections.branches.conversations import SLOTS, talk_with_role

_MOST_ROLES = 8
_USUAL = ("user", "assistant", "system", "tool")
# An invented role; if the template rejects it, a second question is compared instead.
_COMPARED = ("zq_molk", "user")


def by_roles(taking: Taking) -> Iterator[Branch]:
    """Yield a branch for each unusual role that the template tests for, if a message with it removes other text.

    Only roles that other probes do not send. At most one branch per role.
    """
    roles = [role for role in taking.renders.template.tested_roles if role not in _USUAL]
    for role in roles[:_MOST_ROLES]:
        found = (_of_role(taking, role, first=first) for first in (False, True))
        yield from [branch for branch in found if branch is not None][:1]


def _of_role(taking: Taking, role: str, *, first: bool) -> Branch | None:
    """Return what is missing with this role but present with another role at the same position, or None."""
    usual, made = taking.usual.get("short"), _made(taking, role, first=first)
    words = [word for slot, (word, _) in SLOTS.items() if usual and word in usual.text and slot != "system"]
    if not made.text or all(word in made.text for word in words):
        return None
    others = (_made(taking, other, first=first) for other in _COMPARED)
    control = next((other for other in others if other.text), None)
    effect = None if control is None else effects.of_whole(control.text, made.prompt, lambda _: "")
    if control is None or effect is None:
        return None
    differing = taking.differing(control, made)
    line = next((one.line for one in differing if role in one.texts), differing[0].line if differing else None)
    return Branch("role", line, "a message of the role", quote(role, 40), effect.words, effect.excerpts)


def _made(taking: Taking, role: str, *, first: bool) -> BranchRender:
    return taking.make(talk_with_role(taking.manner, role, first=first))
