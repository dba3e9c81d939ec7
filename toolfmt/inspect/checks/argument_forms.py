"""What TF015 and TF016 say of the one form of arguments and of the other."""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts

_HOW = {"threw": "are refused", "python": "are printed as Python's repr", "dropped": "are dropped"}


def does_it(instead: str) -> str:
    """Who passes arguments as `objects` or `strings`, whatever a client sends.

    vLLM 0.33.0 (renderers/chat_utils/chat_message.py) and SGLang 0.5.23 (entrypoints/openai/serving_chat.py) read
    strings to objects, and never write objects to strings.
    """
    servers = (
        ", and so do vLLM's and SGLang's chat endpoints"
        if instead == "objects"
        else "; vLLM's and SGLang's chat endpoints pass objects whatever they are sent"
    )
    return f"toolfmt's render does it for you{servers}"


def refused(facts: Facts, capability: str, given: str, instead: str) -> Iterator[Diagnostic]:
    """That arguments given in this form do not come out; double-encoding is a finding of its own."""
    answer = facts.capabilities[capability]
    if facts.renders_calls and answer.answer != "yes" and answer.outcome != "double-encoded":
        shown = answer.excerpts[0] if answer.outcome == "python" else answer.evidence
        yield Diagnostic(
            f"Arguments given as {given} {_HOW.get(answer.outcome, 'come out as another call')}: {shown}.",
            f"Pass arguments as {instead}; {does_it(instead)}."
            + (" In the template, print an object with `tojson`." if capability == "arguments_object" else ""),
            answer.line,
        )
