"""Prompts of requests that were made to break the renderer: each test is named after what came out wrong once.

The templates are small, and each has what the fault needs.
"""

from __future__ import annotations

from typing import Any

import pytest
from test_delivery import LOOP, said, user
from test_request import continued, through_transformers

from toolfmt.errors import NotDelivered

TEXT = "(m.content if m.content is string else (m.content or []) | map(attribute='text') | join('+'))"
END = "{%- if add_generation_prompt %}{{ '<|assistant|>' }}{%- endif %}"


def template(content: str = TEXT) -> str:
    """A template without tools that writes contents by this expression."""
    return LOOP + "{{ '<|' + m.role + '|>' + " + content + " + '<|end|>' }}{%- endfor %}" + END


def texts(*told: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in told]


# An answer that goes on

PARTS = template()
LOOKS = template("((m.content or '').split('</think>') | join('</think>'))")
TRIMS = template("(m.content or '') | trim")
CUTS = template("(m.content or '').split('</think>') | last")


@pytest.mark.parametrize(
    ("small", "begun", "shown"),
    [
        (PARTS, texts("one "), "one "),
        (PARTS, texts("one ", "two\n"), "one +two\n"),
        (LOOKS, texts("one", "two "), "one\ntwo "),
        (TRIMS, texts("one", "two "), "one\ntwo"),
        (LOOKS, "hm</think>", "hm</think>"),
        (LOOKS, "hm</think>\n\n", "hm</think>\n\n"),
        (LOOKS, "hm</think>Yes", "hm</think>Yes"),
        (TRIMS, "hm</think> ", "hm</think>"),
    ],
)
def test_an_answer_of_parts_or_with_a_text_that_is_looked_for_goes_on_at_its_end(
    small: str, begun: Any, shown: str
) -> None:
    prompt = continued(small, user(), said(begun))
    assert prompt.text == f"<|user|>one<|end|><|assistant|>{shown}"
    assert prompt.prefill == shown
    assert through_transformers(small, prompt.request()) == prompt.text


def test_an_answer_that_the_template_leaves_out_cannot_go_on() -> None:
    with pytest.raises(NotDelivered) as refused:
        continued(CUTS, user(), said("hm</think>"))
    told = "messages[1] (assistant): small/chat_template.jinja leaves out the text that is to go on"
    assert str(refused.value).startswith(told)
    assert continued(CUTS, user(), said("hm</think>Yes")).prefill == "Yes"
