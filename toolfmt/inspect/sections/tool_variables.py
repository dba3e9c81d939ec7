"""Where else than in `tools` a template takes tools: another variable, a key of a message, a role of its own.

The chapter on variables asks; a place counts only if the tool's description put there comes out in the prompt, and not
as Python's repr of a list that the template meant as text. Nothing here raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toolfmt.inspect.probe.conversations import DESCRIPTION, SYSTEM, TOOLS, USER, Message, user
from toolfmt.inspect.probe.renders import Renders

_FUNCTIONS: list[Message] = [tool["function"] for tool in TOOLS]
FORMS: tuple[tuple[str, Any], ...] = (
    ("a list of tools", TOOLS),
    ("a list of functions without the wrapper", _FUNCTIONS),
    ("a JSON text", json.dumps(TOOLS)),
)
"""How tools can be written down, in words and as a value."""

_NO_ROLE = "zqrole"
_KEYS = ("tools", "functions")
_REPR = re.compile(rf"""'description': ['"]{DESCRIPTION}""")
_LIKELY = re.compile(r"(?:\A|_)(?:tools|functions)(?:_|\Z)")


@dataclass(frozen=True)
class ToolPlace:
    """A key or role of a message that takes tools: what to call it, in which form, the template's line."""

    name: str
    form: str
    line: int | None


def form_taken(renders: Renders, name: str) -> str:
    """The form in which the variable takes tools; empty if it has none. Only likely names are asked, since any
    text that is printed would show them."""
    if not _LIKELY.search(name):
        return ""
    usual = _REPR.search(renders.text(user(), TOOLS)) is not None
    for form, value in FORMS:
        given = renders.given({name: value})
        if any(_shows(given, messages, usual=usual) for messages in (user(), user(system=True))):
            return form
    return ""


def message_places(renders: Renders) -> Iterator[ToolPlace]:
    """The keys and roles of messages that take tools, among those that the template's source names."""
    for key in _KEYS:
        line = renders.template.line_of(rf"""['"]{key}['"]|\.{key}\b""")
        if line is None:
            continue
        for name, messages, form in _messages(key):
            if _shows(renders, messages) and not _any_role(renders, messages, key):
                yield ToolPlace(name, form, line)
                break


def _messages(key: str) -> Iterator[tuple[str, list[Message], str]]:
    question = {"role": "user", "content": USER}
    for form, value in FORMS:
        yield f"{key} of the system message", [{"role": "system", "content": SYSTEM, key: value}, question], form
        yield f"{key} of the user message", [question | {key: value}], form
    for form, value in FORMS[2:]:
        yield f"a message of role {key}", [{"role": key, "content": value}, question], form


def _any_role(renders: Renders, messages: list[Message], key: str) -> bool:
    """Whether the first message is of the role `key`, and the template writes any other role just so."""
    first, *others = messages
    if first["role"] != key:
        return False
    other = renders.text([first | {"role": _NO_ROLE}, *others])
    return other.replace(_NO_ROLE, key) == renders.text(messages)


def _shows(renders: Renders, messages: list[Message], *, usual: bool = False) -> bool:
    """Whether the tool is in the prompt; as Python's repr only where that is how the template shows its `tools`."""
    prompt = renders.render(messages)
    return isinstance(prompt, str) and DESCRIPTION in prompt and (usual or _REPR.search(prompt) is None)
