"""Whether a template renders ordinary text unchanged: quotes, line breaks, long texts, whitespace at the ends."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.capabilities import threw
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import excerpt

_NEUTRAL = "Nq5neutral"
_ROUGH = {
    "with quotes, line breaks, markup and other characters": (
        """# "A"\n\n\tb  c <b>x</b> & {0} %s é ÀB 中\\n www.a.com _*`' 1.0"""
    ),
    "of 25,000 characters": " ".join(["Nq5long"] * 3_125),
}
"""Texts that a template should render unchanged, by their descriptions."""


def rough_text_changed(renders: Renders, role: str, carrier: Any) -> Answer | None:
    """Return how a text with unusual characters, or a long one, is changed.

    None if it is rendered unchanged or with JSON escapes.
    """
    made, tools = carrier
    neutral = renders.render(made(_NEUTRAL), tools)
    if isinstance(neutral, TemplateError) or _NEUTRAL not in neutral:
        return None
    for what, text in _ROUGH.items():
        prompt = renders.render(made(text), tools)
        escaped = (json.dumps(text, ensure_ascii=ascii)[1:-1] for ascii in (False, True))
        expected = [neutral.replace(_NEUTRAL, written) for written in (text, *escaped)]
        if isinstance(prompt, TemplateError):
            return replace(threw(prompt, f"{role} {what} is rejected"), outcome="text-changed")
        if prompt not in expected:
            offset = common_prefix(prompt, expected[0])
            line = renders.line_at(made(text), tools, min(offset, len(prompt) - 1))
            shown = excerpt(prompt, offset - 20, offset + 60)
            return Answer("no", f"{role} {what} is changed: '{{}}'", line, "text-changed", (shown,))
    return None


def is_trimmed(renders: Renders, carrier: Any) -> bool:
    """Return whether spaces and line breaks at the ends of a text are removed."""
    made, tools = carrier
    neutral, prompt = (renders.text(made(text), tools) for text in (_NEUTRAL, f" \n{_NEUTRAL}\n "))
    return _NEUTRAL in neutral and prompt == neutral
