"""Detect where a template reads tools besides `tools`: another variable, a key of a message, or a role.

A location counts only if the tool's description appears in the prompt, and not as Python's repr of a list that the
template expected to be a string. Used by the variables section. Nothing here raises.
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
"""The forms in which tools can be passed: a description and the value."""

_NO_ROLE = "zqrole"
_KEYS = ("tools", "functions")
_REPR = re.compile(rf"""'description': ['"]{DESCRIPTION}""")
_LIKELY = re.compile(r"(?:\A|_)(?:tools|functions)(?:_|\Z)")


@dataclass(frozen=True)
class ToolPlace:
    """A key or role of a message that accepts tools: its name, the form, and the template's line."""

    name: str
    form: str
    line: int | None


def form_taken(renders: Renders, name: str) -> str:
    """Return the form in which the variable accepts tools, or an empty string.

    Only variables with likely names are tested, since any text that is printed would show the tools.
    """
    if not _LIKELY.search(name):
        return ""
    usual = _REPR.search(renders.text(user(), TOOLS)) is not None
    for form, value in FORMS:
        given = renders.given({name: value})
        if any(_shows(given, messages, usual=usual) for messages in (user(), user(system=True))):
            return form
    return ""


def message_places(renders: Renders) -> Iterator[ToolPlace]:
    """Yield the keys and roles of messages that accept tools, among those in the template's source."""
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
        yield (
            f"the key `{key}` of the system message",
            [{"role": "system", "content": SYSTEM, key: value}, question],
            form,
        )
        yield f"the key `{key}` of the user message", [question | {key: value}], form
    for form, value in FORMS[2:]:
        yield f"a message of role {key}", [{"role": key, "content": value}, question], form


def _any_role(renders: Renders, messages: list[Message], key: str) -> bool:
    """Return whether the first message has the role `key`, and the template renders any other role the same way."""
    first, *others = messages
    if first["role"] != key:
        return False
    other = renders.text([first | {"role": _NO_ROLE}, *others])
    return other.replace(_NO_ROLE, key) == renders.text(messages)


def _shows(renders: Renders, messages: list[Message], *, usual: bool = False) -> bool:
    """Return whether the tool is in the prompt. Python's repr counts only if the template shows `tools` that way."""
    prompt = renders.render(messages)
    return isinstance(prompt, str) and DESCRIPTION in prompt and (usual or _REPR.search(prompt) is None)
