"""The template writes characters into the prompt that no editor shows.

A byte order mark at the beginning of the file (some editors save one), a zero-width or a no-break space that came along
with copied text: the model reads a token there that it has never seen in that place, and a marker with such a character
in it is no marker any more. No one sees it in the file.

What to do: save the file as UTF-8 without a byte order mark; write an ordinary space, or nothing, in place of the
character.

Example: a `chat_template.jinja` that begins with U+FEFF.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import TOOLS, reply, user
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.report.wording import quote

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "template"

_NAMES = {
    "\ufeff": "byte order mark",
    "\u00a0": "no-break space",
    "\u00ad": "soft hyphen",
    "\u200b": "zero-width space",
    "\u200c": "zero-width non-joiner",
    "\u200e": "left-to-right mark",
    "\u200f": "right-to-left mark",
    "\u2060": "word joiner",
}
_INVISIBLE = re.compile(f"[{''.join(_NAMES)}]")


def check(facts: Facts) -> Iterator[Diagnostic]:
    renders = facts.renders
    if renders is None:
        return
    messages = [*reply(), *user()]
    for tools in (None, TOOLS):
        prompt = renders.text(messages, tools)
        found = _INVISIBLE.search(prompt)
        if found is None:
            continue
        name, offset = _NAMES[found[0]], found.start()
        after = prompt[offset + 1 : offset + 31]
        yield Diagnostic(
            f"The template writes a {name} (U+{ord(found[0]):04X}) into the prompt, before '{quote(after)}'.",
            "Save the template as UTF-8 without a byte order mark."
            if found[0] == "\ufeff" and renders.template.source.startswith(found[0])
            else "Write an ordinary space or nothing in its place.",
            renders.line_at(messages, tools, offset),
        )
        return
