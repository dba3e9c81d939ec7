"""The constant strings that a template can write, and which of them its prompts contain."""

from __future__ import annotations

import re

import pytest

from toolfmt.templates import ChatTemplate

WORDS = re.compile(r"[A-Z]\w+ \w+(?: \w+)*\.")


def texts(source: str) -> dict[str, int]:
    template = ChatTemplate(source)
    template.record_own_texts(WORDS)
    return dict(template.own_texts.texts)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Say hello.", {"Say hello.": 1}),
        ("a\n\nb Say hello.\nBe nice.", {"Say hello.": 3, "Be nice.": 4}),
        ("\n{{ 'Say hello.' }}", {"Say hello.": 2}),
        ("{{ 'Say ' ~ 'hello.' }}", {"Say hello.": 1}),
        ("{{ 'Say ' }}{{ 'hello' }}.", {"Say hello.": 1}),
        ("Say \n{{ 'x' if y }}\nhello.", {}),
        ("{{ 'x' if y else 'Say hello.' }}", {"Say hello.": 1}),
        ("{{ {'a': 'Say hello.'}[x] }}", {"Say hello.": 1}),
        ("{{ x or 'Say hello.' }}", {"Say hello.": 1}),
        ("{{ 'Say hello.' * x }}", {"Say hello.": 1}),
        ("{{ x | default('Say hello.') }}", {"Say hello.": 1}),
        ("{%- set w = 'Say hello.' %}\n{{ w }}", {"Say hello.": 1}),
        ("{%- macro m() %}Say hello.{% endmacro %}\n{{ m() }}", {"Say hello.": 1}),
        ("{%- if x %}\n{%- if y %}Say hello.{% endif %}{% endif %}", {"Say hello.": 2}),
        ("{{ x == 'Say hello.' }}{{ x is eq 'Say hello.' }}", {}),
        ("{{ raise_exception('Say hello.') }}", {}),
        ("{{ 'Say hello.' }}\n{{ raise_exception('Be nice.') }}", {"Say hello.": 1}),
        ("{# Say hello. #}", {}),
        ("{% macro raise_exception(x) %}{{ x }}{% endmacro %}{{ raise_exception('Say hello.') }}", {"Say hello.": 1}),
        ("{% set raise_exception = cycler %}{{ raise_exception('Say hello.') }}", {"Say hello.": 1}),
        ("Say {{ x }}hello.", {}),
        ("{{ 'Say hello.' }}\nSay hello.", {"Say hello.": 1}),
        ("".join(f"Say x{number}. " for number in range(300)), {f"Say x{number}.": 1 for number in range(200)}),
    ],
)
def test_what_a_template_can_write(source: str, expected: dict[str, int]) -> None:
    assert texts(source) == expected


TEMPLATE = "{% if tools %}Use tools.{% elif messages[1:] %}Be nice.{% endif %}{{ messages[0].content }}"


def test_what_the_prompts_contain() -> None:
    template = ChatTemplate(TEMPLATE)
    template.record_own_texts(WORDS)
    own = template.own_texts
    question = {"role": "user", "content": "x"}
    template.render([question])
    assert own.unprinted == {"Use tools.": 1, "Be nice.": 1}
    template.render([question, question])
    assert (own.unprinted, own.printed_without_tools) == ({"Use tools.": 1}, {"Be nice.": 1})
    template.render([question], tools=[{"name": "f"}])
    assert (own.unprinted, own.printed_without_tools) == ({}, {"Be nice.": 1})
    assert own.conversations_with_tools == [[question]]
    template.render([question], tools=[{"name": "f"}])
    assert len(own.conversations_with_tools) == 1


def test_a_prompt_with_tools_in_a_variable_is_not_one_without_tools() -> None:
    template = ChatTemplate("{% if functions %}Use tools.{% endif %}{{ mode }}")
    template.record_own_texts(WORDS)
    question = [{"role": "user", "content": "x"}]
    template.render(question, functions=[{"name": "f"}], mode="y")
    own = template.own_texts
    assert (own.unprinted, own.printed_without_tools, own.conversations_with_tools) == ({}, {}, [])
    template.render(question, functions="f", mode="y")
    assert own.printed_without_tools == {"Use tools.": 1}


def test_a_string_of_the_messages_is_theirs() -> None:
    template = ChatTemplate(TEMPLATE)
    template.record_own_texts(WORDS)
    template.render([{"role": "user", "content": "Use tools."}])
    assert template.own_texts.unprinted == {"Use tools.": 1, "Be nice.": 1}
    assert template.own_texts.printed_without_tools == {}


def test_a_conversation_with_tools_that_prints_no_text_of_its_own_is_not_kept() -> None:
    template = ChatTemplate(TEMPLATE)
    template.record_own_texts(WORDS)
    template.render([{"role": "user", "content": "Use tools."}], tools=[{"name": "f"}])
    assert template.own_texts.conversations_with_tools == []


def test_nothing_is_recorded_unless_requested() -> None:
    template = ChatTemplate(TEMPLATE)
    template.render([{"role": "user", "content": "x"}], tools=[{"name": "f"}])
    assert (template.own_texts.texts, template.own_texts.conversations_with_tools) == ({}, [])
