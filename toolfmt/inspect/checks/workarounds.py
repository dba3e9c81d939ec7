"""Advice for templates that do not accept tools or a role, based on what else they accept."""

from __future__ import annotations

from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy

_DOES_IT = "`toolfmt render` does this"


SEND_TEXT_PARTS = 'Send content as `[{"type": "text", "text": "…"}]`; `toolfmt render` does this.'


def describe_tools(facts: Facts) -> str:
    """Return where to describe tools that the template does not show."""
    if facts.rejects_questions:
        return "Describe the tools in a message once the template takes one (TF003)."
    if facts.question_form == "nothing":
        return "Use another template for chat: what is described in words does not reach the prompt either."
    if facts.question_form == "parts":
        return "Describe the tools in a message whose content is a list of parts."
    place = "in a system message" if facts.yes("system") else "at the beginning of the first user message"
    return f"Describe the tools {place}; {_DOES_IT}."


def or_in_words(facts: Facts, change: str, alternative: str) -> tuple[str, FixedBy]:
    """Return what the caller may `change` in a definition, or do `alternative`, and what fixes the finding then.

    `alternative` only applies if the template accepts a request without tools.
    """
    if facts.takes_prose:
        return f"{change}{alternative}.", "prompt"
    no_prompt = (
        "The tools cannot be described in the system prompt instead: the template fails on a request without tools."
    )
    return f"{change}. {no_prompt}", "request"


def shows_descriptions(facts: Facts) -> bool:
    """Return whether the template shows tool descriptions, to which `toolfmt render` adds what it leaves out."""
    shown = facts.sections.definitions.get("description")
    return shown is not None and shown.answer == "yes"


def give_instructions(facts: Facts) -> str:
    """Return where to put the instructions of a message whose role the template does not accept."""
    if facts.question_form == "nothing":
        return "Use another template for chat: the text of other messages does not reach the prompt either."
    if facts.question_form == "parts":
        return "Give content as a list of parts; put what is still lost at the beginning of the first user message."
    return f"Put the instructions at the beginning of the first user message; {_DOES_IT}."
