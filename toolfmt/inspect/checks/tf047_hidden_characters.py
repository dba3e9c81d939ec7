"""The template contains characters that an editor does not show, or that change the order of the displayed text.

What it checks: the source of the template, and the prompts of a short conversation with and without tools.

- `invisible-character`: an invisible character is in these prompts. It is a byte order mark at the start of the file
  (some editors save one), or a zero-width or no-break space from copied text.
- `invisible-character-unused`: such a character is in the source but not in these prompts.
- `unicode-tags`: characters of the block E0000 to E007F, which encode ASCII text that only a model reads.
- `bidirectional-override`: a character such as U+202E, after which an editor shows the source in another order than
  jinja2 reads it.

Why it matters: the model reads a token at a position at which it has never seen it. A marker that contains such a
character is not a marker any more. Tags can hide an instruction.

Affected runtimes: every runtime that renders this template.

Example:

    {{ '<|im_start|>\\u200b' + message.role }}

A `chat_template.jinja` that begins with U+FEFF is another example.

Fix: save the file as UTF-8 without a byte order mark. Replace the character with an ordinary space, or remove it. If
tags encode an instruction, do not use the template.

    {{ '<|im_start|>' + message.role }}
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolfmt._util.text_lists import listed_first
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import TOOLS, reply, user
from toolfmt.inspect.report.wording import quote
from toolfmt.templates.analysis.hidden_characters import HiddenText

OUTCOMES = {
    "invisible-character": FindingOutcome("warning", "template", replaces="TF047 invisible-character"),
    "invisible-character-unused": FindingOutcome("note"),
    "unicode-tags": FindingOutcome("warning", "template"),
    "bidirectional-override": FindingOutcome("warning", "template"),
}
PROTECTED = True

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
_MOST_SHOWN = 4
_IN_PLACE = "Replace it with an ordinary space, or remove it."


def check(facts: Facts) -> Iterator[Diagnostic]:
    printed = list(_printed(facts))
    yield from printed
    hidden = () if facts.parsed is None else facts.parsed.hidden_characters
    if not printed:
        unused = [one for one in hidden if one.kind == "invisible-character"]
        if unused:
            yield _hidden(unused, "The template contains characters that no editor shows", "invisible-character-unused")
    tags = [one for one in hidden if one.kind == "unicode-tags"]
    if tags:
        yield _hidden(tags, "The template contains Unicode tags, which only a model reads", "unicode-tags")
    overrides = [one for one in hidden if one.kind == "bidirectional-override"]
    if overrides:
        what = "The template contains characters after which an editor shows it in another order"
        yield _hidden(overrides, what, "bidirectional-override")


def _printed(facts: Facts) -> Iterator[Diagnostic]:
    """Report the first invisible character in a prompt."""
    renders = facts.renders
    messages = [*reply(), *user()]
    for tools in (None, TOOLS) if renders is not None else ():
        prompt = "" if renders is None else renders.text(messages, tools)
        found = _INVISIBLE.search(prompt)
        if found is None or renders is None:
            continue
        name, offset = _NAMES[found[0]], found.start()
        after = prompt[offset + 1 : offset + 31]
        yield Diagnostic(
            f"The template writes a {name} (U+{ord(found[0]):04X}) into the prompt, before '{quote(after)}'.",
            "Save the template as UTF-8 without a byte order mark."
            if found[0] == "\ufeff" and renders.template.source.startswith(found[0])
            else _IN_PLACE,
            renders.line_at(messages, tools, offset),
            outcome="invisible-character",
        )
        return


def _hidden(found: list[HiddenText], what: str, outcome: str) -> Diagnostic:
    shown = [
        f"line {one.line} ({one.name}{f', spelling {quote(one.spelled, 80)!r}' if one.spelled else ''})"
        for one in found
    ]
    fix = "Do not use this template." if outcome == "unicode-tags" else _IN_PLACE
    return Diagnostic(f"{what}: {listed_first(shown, _MOST_SHOWN)}.", fix, found[0].line, outcome=outcome)
