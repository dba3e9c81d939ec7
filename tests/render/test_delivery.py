"""The delivery guarantee on small templates that each lose, repeat, reorder or reject one thing: what is done about it.

If an adaptation helps, it is named, and the prompt contains everything; if none does, one line names the message. The
texts of a request are found in the prompt whatever they contain.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from delivery_cases import (
    CONTENT,
    HEAD,
    LOOP,
    PLAIN,
    assistant,
    calls,
    changed,
    fresh_model,
    model_of,
    raising,
    result,
    system,
    turns,
    user,
)
from hypothesis import example, given
from hypothesis import strategies as st
from prompt_cases import TOOL, template

from toolfmt.errors import BadMessages, NotDelivered, TemplateError
from toolfmt.render.adapt.remedies import (
    CALLS_AS_CONTENT,
    CALLS_WITH_TEXT_AS_CONTENT,
    REMEDIES,
    RESULTS_AS_USER,
    plans,
)
from toolfmt.render.verify.delivery import delivered, proved
from toolfmt.render.verify.sentinel_request import aligned, sentinel_request_of, spellings


def written(*ids: str) -> str:
    """The calls as the templates here write them."""
    return "".join(f'<tool_call>{{"name": "find", "arguments": {{"at": "at {id}"}}}}</tool_call>' for id in ids)


NO_TEXT_WITH_CALLS = changed(CONTENT, "('' if m.tool_calls else m.content or '')")
THOUGHT = changed(HEAD, HEAD + "('<think>' + m.reasoning_content + '</think>' if m.reasoning_content else '') + ")
ORPHANS_REJECTED = "m.role == 'tool' and not before.tool_calls and before.role != 'tool'"
PARTS = changed(
    CONTENT, "(m.content if m.content is string else (m.content or []) | map(attribute='text') | join('+'))"
)
IDS = changed("m.role + '|>'", "m.role + (' ' + m.tool_call_id if m.tool_call_id else '') + '|>'")
LONG = "{%- if messages | length > 5 %}"
TEXTS = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]

ONE_RESULT = turns("user: one", f"assistant: {written('a')}", "tool: result a")
TWICE = [user(), calls("a"), result("a"), assistant(), user("two"), calls("b"), result("b")]
TWO_CALLS = turns(
    "user: one", f"assistant: {written('a')}", "tool: result a", "assistant: said", "user: two",
    f"assistant: {written('b')}", "tool: result b",
)  # fmt: skip
THINKING = assistant(reasoning_content="thought")

# The remedy: a conversation, a template that needs the remedy and the prompt with it, one that does not and its prompt.
NEEDED: dict[str, tuple[list[dict[str, Any]], str, str, str, str]] = {
    "developer-as-system": (
        [{"role": "developer", "content": "dev"}, user()],
        raising("m.role not in ['system', 'user', 'assistant', 'tool']"),
        turns("system: dev", "user: one"),
        PLAIN,
        turns("developer: dev", "user: one"),
    ),
    "system-messages-joined": (
        [system(), system("more"), user()],
        raising("m.role == 'system' and not loop.first"),
        turns("system: sys\n\nmore", "user: one"),
        PLAIN,
        turns("system: sys", "system: more", "user: one"),
    ),
    "later-system-in-user-message": (
        [system(), user(), assistant(), system("more"), user("two")],
        raising("m.role == 'system' and not loop.first"),
        turns("system: sys", "user: one", "assistant: said", "user: more\n\ntwo"),
        PLAIN,
        turns("system: sys", "user: one", "assistant: said", "system: more", "user: two"),
    ),
    "content-null-to-empty": (
        [user(), calls("a", text=None), result("a")],
        raising("m.content is not string"),
        ONE_RESULT,
        PLAIN,
        ONE_RESULT,
    ),
    "content-parts-joined": (
        [{"role": "system", "content": TEXTS}, user()],
        raising("m.role == 'system' and m.content is not string", PARTS),
        turns("system: one\ntwo", "user: one"),
        PARTS,
        turns("system: one+two", "user: one"),
    ),
    "reasoning-in-content": (
        [user(), THINKING, user("two")],
        raising("m.reasoning_content is defined"),
        turns("user: one", "assistant: <think>\nthought\n</think>\n\nsaid", "user: two"),
        THOUGHT,
        turns("user: one", "assistant: <think>thought</think>said", "user: two"),
    ),
    "text-as-reasoning": (
        [user(), calls("a", text="beside", reasoning="thought"), result("a")],
        raising(ORPHANS_REJECTED, changed(CONTENT, "('' if m.tool_calls else m.content or '')", THOUGHT)),
        turns("user: one", f"assistant: <think>thought\n\nbeside</think>{written('a')}", "tool: result a"),
        changed("m.reasoning_content", "(m.reasoning or m.reasoning_content)", THOUGHT),
        turns("user: one", f"assistant: <think>thought</think>beside{written('a')}", "tool: result a"),
    ),
    "text-before-call": (
        [user(), calls("a", text="beside"), result("a")],
        raising(ORPHANS_REJECTED, NO_TEXT_WITH_CALLS),
        turns("user: one", "assistant: beside", f"assistant: {written('a')}", "tool: result a"),
        raising(ORPHANS_REJECTED),
        turns("user: one", f"assistant: beside{written('a')}", "tool: result a"),
    ),
    "empty-reasoning-added": (
        [user(), assistant(), user("two")],
        raising("m.role == 'assistant' and m.reasoning_content is not defined"),
        turns("user: one", "assistant: said", "user: two"),
        PLAIN,
        turns("user: one", "assistant: said", "user: two"),
    ),
    "empty-question-added": (
        [assistant("hello"), user()],
        raising("loop.first and m.role not in ['user', 'system']"),
        turns("user: ", "assistant: hello", "user: one"),
        PLAIN,
        turns("assistant: hello", "user: one"),
    ),
    "empty-user-message-between": (
        [user(), calls("a", text="beside"), result("a"), assistant()],
        raising("m.role == 'assistant' and before.role == 'tool'"),
        turns("user: one", f"assistant: beside{written('a')}", "tool: result a", "user: ", "assistant: said"),
        PLAIN,
        turns("user: one", f"assistant: beside{written('a')}", "tool: result a", "assistant: said"),
    ),
    "empty-answer-added": (
        [user(), calls("a"), result("a"), user("two")],
        raising("m.role == 'user' and before.role == 'tool'"),
        turns("user: one", f"assistant: {written('a')}", "tool: result a", "assistant: ", "user: two"),
        PLAIN,
        turns("user: one", f"assistant: {written('a')}", "tool: result a", "user: two"),
    ),
    CALLS_WITH_TEXT_AS_CONTENT: (
        [user(), calls("a", text="beside"), result("a"), calls("b"), result("b")],
        NO_TEXT_WITH_CALLS,
        turns(
            "user: one", f"assistant: beside\n{written('a')}", "tool: result a",
            f"assistant: {written('b')}", "tool: result b",
        ),
        PLAIN,
        turns(
            "user: one", f"assistant: beside{written('a')}", "tool: result a",
            f"assistant: {written('b')}", "tool: result b",
        ),
    ),
    "parallel-calls-split": (
        [user(), calls("a", "b", "c"), result("a"), result("b"), result("c")],
        raising("m.tool_calls and m.tool_calls | length > 2"),
        turns("user: one", *(turn for id in "abc" for turn in (f"assistant: {written(id)}", f"tool: result {id}"))),
        PLAIN,
        turns("user: one", f"assistant: {written('a', 'b', 'c')}", *(f"tool: result {id}" for id in "abc")),
    ),
    "system-in-first-user-message": (
        [system(), user(), calls("a"), result("a")],
        changed(LOOP, "{%- for m in messages if m.role != 'system' or messages[-1].role != 'tool' %}"),
        turns("user: sys\n\none", f"assistant: {written('a')}", "tool: result a"),
        PLAIN,
        turns("system: sys", "user: one", f"assistant: {written('a')}", "tool: result a"),
    ),
    CALLS_AS_CONTENT: (
        [user("odd"), calls("a"), result("a")],
        changed("m.tool_calls or []", "(m.tool_calls if messages[0].content != 'odd' else []) or []"),
        turns("user: odd", f"assistant: {written('a')}", "tool: result a"),
        PLAIN,
        turns("user: odd", f"assistant: {written('a')}", "tool: result a"),
    ),
    RESULTS_AS_USER: (
        [user(), calls("a"), result("a"), calls("b"), result("b"), calls("c"), result("c")],
        "{%- if messages | selectattr('role', 'eq', 'tool') | list | length > 2 %}"
        "{{ raise_exception('three') }}{%- endif %}" + PLAIN,
        turns(
            "user: one",
            *(turn for id in "abc" for turn in (f"assistant: {written(id)}", f"user: Result of find:\nresult {id}")),
        ),
        PLAIN,
        turns("user: one", *(turn for id in "abc" for turn in (f"assistant: {written(id)}", f"tool: result {id}"))),
    ),
    "roles-joined": (
        [user(), user("two"), assistant(), assistant("more"), user("three")],
        raising("m.role == before.role"),
        turns("user: one\n\ntwo", "assistant: said\n\nmore", "user: three"),
        PLAIN,
        turns("user: one", "user: two", "assistant: said", "assistant: more", "user: three"),
    ),
    "content-as-parts": (
        [user(), assistant(), user("two")],
        changed(CONTENT, "((m.content if m.content is not string else []) | map(attribute='text') | join('+'))"),
        turns("user: one", "assistant: said", "user: two"),
        PARTS,
        turns("user: one", "assistant: said", "user: two"),
    ),
    "results-named": (
        TWICE,
        LONG + raising("m.role == 'tool' and not m.name", "{%- endif %}" + PLAIN),
        TWO_CALLS,
        PLAIN,
        TWO_CALLS,
    ),
    "ids-shortened": (
        TWICE,
        LONG + raising("m.role == 'tool' and m.tool_call_id | length != 9", "{%- endif %}" + IDS),
        TWO_CALLS.replace("<|tool|>result a", "<|tool call00000|>result a").replace(
            "<|tool|>result b", "<|tool call00001|>result b"
        ),
        IDS,
        TWO_CALLS.replace("<|tool|>result a", "<|tool a|>result a").replace("<|tool|>result b", "<|tool b|>result b"),
    ),
}  # fmt: skip
NAMED = {CALLS_WITH_TEXT_AS_CONTENT: (CALLS_AS_CONTENT,)}


@pytest.mark.parametrize(
    "messages",
    [
        [user(), calls("a"), result("a"), assistant()],
        [user(), calls("a", text="beside"), result("a"), user("two"), assistant()],
        [user(), assistant(), assistant("more")],
        [user(), assistant(), user("two"), calls("a"), result("a"), assistant()],
        [user(), calls("a", text="beside"), result("a"), calls("b"), result("b")],
    ],
)
def test_an_empty_question_is_added_only_between_two_texts_around_a_call(messages: list[dict[str, Any]]) -> None:
    remedy = next(remedy for remedy in REMEDIES if remedy.name == "empty-user-message-between")
    assert remedy.apply(messages) == messages


def test_there_is_a_template_that_needs_each_remedy() -> None:
    assert set(NEEDED) == {remedy.name for remedy in REMEDIES}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", NEEDED)
def test_a_remedy_is_named_where_it_is_needed_alone(name: str) -> None:
    messages, needing, adapted, other, as_given = NEEDED[name]
    prompt = model_of(needing).render(messages)
    assert (prompt.text, prompt.adaptations, prompt.lost) == (adapted, NAMED.get(name, (name,)), ())
    untouched = model_of(other).render(messages)
    assert (untouched.text, untouched.adaptations, untouched.lost) == (as_given, (), ())


def test_remedies_go_together_where_one_is_not_enough() -> None:
    model = model_of(raising("m.role == before.role or m.role == 'developer'"))
    prompt = model.render([{"role": "developer", "content": "dev"}, user(), user("two")])
    assert prompt.adaptations == ("developer-as-system", "roles-joined")
    assert prompt.text == turns("system: dev", "user: one\n\ntwo")


@pytest.mark.parametrize("printed", ["m.content | string", "m.content | tojson"])
def test_a_list_of_parts_that_is_printed_is_no_text_delivered(printed: str) -> None:
    """The text is in the prompt, inside the list as Python or JSON writes it."""
    model = model_of(changed(CONTENT, f"('' if m.content is string and '</think>' in m.content else {printed})"))
    messages = [user("What does </think> mean?")]
    with pytest.raises(NotDelivered, match=r"messages\[0\] \(user\): its text is lost"):
        model.render(messages)
    assert model.render(messages, lossy=True).text == turns("user: ")


def test_where_a_later_system_message_goes_without_a_user_message_after_it() -> None:
    model = model_of(raising("m.role == 'system' and not loop.first"))
    at_the_end = model.render([system(), user(), assistant(), system("more")])
    assert at_the_end.text == turns("system: sys", "user: one", "assistant: said", "user: more")
    before_an_answer = model.render(
        [system(), user(), assistant(), system("more"), system("still"), assistant("b"), user("two")]
    )
    assert before_an_answer.text == turns(
        "system: sys", "user: one", "assistant: said", "user: more\n\nstill", "assistant: b", "user: two"
    )
    assert before_an_answer.adaptations == ("later-system-in-user-message",)


# What a template makes of a conversation

LATE_TEXT = changed("{{ '<|end|>' }}", "{{ '<|end|>' + (before.content if before.tool_calls else '') }}").replace(
    LOOP, LOOP + "{%- set before = messages[loop.index0 - 1] if loop.index0 else {} %}"
)
SWAPS = "{% if messages[-1].role == 'tool' and messages[-2].role == 'tool' %}{% set messages = messages[:-2] + "
SWAPS += "[messages[-1], messages[-2]] %}{% endif %}" + PLAIN
ONE_ARGUMENT = changed(
    "c.function.arguments | tojson",
    """('{"at": ' + (c.function.arguments.at | tojson) + '}' if c.function.arguments.days """
    "else c.function.arguments | tojson)",
)
NO_SYSTEM = changed(LOOP, "{%- for m in messages if m.role != 'system' %}")
SYSTEM_REPEATED = (
    "('<|system|>' + messages[0].content + '<|end|>' if m.role == 'user' and messages[0].role == 'system' else '')"
)
SYSTEM_TO_EACH = changed(HEAD, f"{SYSTEM_REPEATED} + {HEAD}", NO_SYSTEM)
HOISTS = "{%- for m in messages if m.role == 'system' %}{{ '<|system|>' + m.content + '<|end|>' }}{%- endfor %}"
HOISTS += PLAIN.replace(LOOP, "{%- for m in messages if m.role != 'system' %}")


def test_text_rendered_after_the_result_of_its_call_is_moved_before_it() -> None:
    messages = [user(), calls("a", text="beside"), result("a")]
    text_last = changed(CONTENT, "('' if m.tool_calls else m.content or '')", LATE_TEXT)
    prompt = model_of(text_last).render(messages)
    assert prompt.adaptations == ("calls-as-content",)
    assert prompt.text == turns("user: one", f"assistant: beside\n{written('a')}", "tool: result a")
    prompt = model_of(raising(ORPHANS_REJECTED, text_last)).render(messages)
    assert prompt.adaptations == ("text-before-call",)
    assert prompt.text == turns("user: one", "assistant: beside", f"assistant: {written('a')}", "tool: result a")
    untouched = model_of(text_last).render([user(), calls("a"), result("a"), assistant()])
    assert untouched.adaptations == ()


def test_results_in_another_order_each_come_after_their_call() -> None:
    prompt = model_of(SWAPS).render([user(), calls("a", "b"), result("a"), result("b")])
    assert prompt.adaptations == ("parallel-calls-split",)
    assert prompt.text == turns(
        "user: one", f"assistant: {written('a')}", "tool: result a", f"assistant: {written('b')}", "tool: result b"
    )


def test_an_argument_that_is_dropped_is_written_into_the_content() -> None:
    model = model_of(ONE_ARGUMENT)
    call = {"id": "a", "type": "function", "function": {"name": "find", "arguments": {"at": "x", "days": 3}}}
    prompt = model.render([user(), assistant("", tool_calls=[call]), result("a")])
    assert prompt.adaptations == ("calls-as-content",)
    assert '{"name": "find", "arguments": {"at": "x", "days": 3}}' in prompt.text
    assert "<|tool|>result a" in prompt.text
    assert model.render([user(), calls("a"), result("a")]).adaptations == ()


CALLS_DROPPED = template().replace("m.tool_calls or []", "[]")
WRITTEN = """assistant: <tool_call>
{"name": "find", "arguments": {"at": "at a"}}
</tool_call>"""
IN_WORDS = "user: Result of find:\nresult a"


@pytest.mark.parametrize(
    ("text", "turn", "named"),
    [
        pytest.param(CALLS_DROPPED, "tool: result a", (), id="as they are"),
        pytest.param(
            changed(CONTENT, "(m.name + ' ' if m.role == 'tool' else '') + (m.content or '')", CALLS_DROPPED),
            "tool: find result a",
            ("results-named",),
            id="with the name of the call",
        ),
        pytest.param(
            raising("messages[0].content == 'odd' and m.role == 'tool' and not before.tool_calls", CALLS_DROPPED),
            IN_WORDS,
            (RESULTS_AS_USER,),
            id="rejected after a turn without calls",
        ),
    ],
)
def test_where_calls_are_dropped_results_keep_the_form_of_the_template(
    text: str, turn: str, named: tuple[str, ...]
) -> None:
    """In the format shown by the template, with its tools; if there is none, they are described in the prompt, like the
    calls.
    """
    messages = [user("odd"), calls("a"), result("a")]
    prompt = model_of(text).render(messages, [TOOL])
    assert prompt.strategy == "template"
    assert (prompt.text.partition("<|end|>")[2], prompt.lost) == (turns("user: odd", WRITTEN, turn), ())
    assert set(prompt.adaptations) == {CALLS_AS_CONTENT, *named}
    assert IN_WORDS.partition(": ")[2] in model_of(text).render(messages, [TOOL], strategy="prompt").text


def test_results_go_with_calls_in_words_where_the_template_shows_no_tools() -> None:
    model = model_of(changed("m.tool_calls or []", "[]", template(tools="")))
    prompt = model.render([user(), calls("a"), result("a")])
    assert prompt.text == turns("user: one", WRITTEN, IN_WORDS)
    assert prompt.adaptations[:2] == (CALLS_AS_CONTENT, RESULTS_AS_USER)


def test_results_in_words_cost_little_with_calls_in_the_content() -> None:
    """A rejected form of results is given up before anything that changes roles, and after what does not."""
    messages = [user(), calls("a", "b"), result("a"), result("b")]
    alone, with_calls = list(plans(messages, 200)), list(plans(messages, 200, calls_in_words=True))
    in_words = frozenset({RESULTS_AS_USER})
    before, after = frozenset({"ids-shortened"}), frozenset({"content-as-parts"})
    assert with_calls.index(before) < with_calls.index(in_words) < with_calls.index(after)
    assert alone.index(after) < alone.index(in_words)
    assert alone.index(frozenset({CALLS_AS_CONTENT})) < alone.index(in_words | {CALLS_AS_CONTENT})
    assert alone.index(in_words | {CALLS_AS_CONTENT}) < alone.index(in_words | {"parallel-calls-split"})


def test_calls_that_are_dropped_go_into_turns_of_their_own() -> None:
    model = model_of(changed("m.tool_calls or []", "(m.tool_calls or [])[:2]"))
    prompt = model.render([user(), calls("a", "b", "c"), result("a"), result("b"), result("c")])
    assert prompt.adaptations == ("parallel-calls-split",)
    assert [prompt.text.count(f"at {id}") for id in "abc"] == [1, 1, 1]
    assert model.render([user(), calls("a", "b"), result("a"), result("b")]).adaptations == ()


def test_a_system_message_that_is_repeated_goes_into_the_first_user_message() -> None:
    model = model_of(SYSTEM_TO_EACH)
    prompt = model.render([system(), user(), assistant(), user("two")])
    assert prompt.adaptations == ("system-in-first-user-message",)
    assert prompt.text == turns("user: sys\n\none", "assistant: said", "user: two")
    assert model.render([system(), user()]).adaptations == ()


def test_a_text_that_is_always_repeated_is_reported() -> None:
    twice = changed(CONTENT, "(m.content or '') + ('|' + m.content if m.role == 'user' and loop.first else '')")
    model = model_of(twice)
    prompt = model.render([user(), assistant(), user("two")])
    assert prompt.text == turns("user: one|one", "assistant: said", "user: two")
    assert prompt.adaptations == ("text-repeated",)


def test_a_later_system_message_that_is_hoisted_goes_into_the_next_user_message() -> None:
    model = model_of(HOISTS)
    prompt = model.render([system(), user(), assistant(), system("more"), user("two")])
    assert prompt.adaptations == ("later-system-in-user-message",)
    assert prompt.text == turns("system: sys", "user: one", "assistant: said", "user: more\n\ntwo")
    assert model.render([system(), system("more"), user()]).adaptations == ()


def test_a_system_message_before_the_last_question_is_reported() -> None:
    last = "{%- if loop.last and messages[0].role == 'system' %}{{ '<|system|>' + messages[0].content + '<|end|>' }}"
    model = model_of(NO_SYSTEM.replace("{{ '<|' + m.role", last + "{%- endif %}{{ '<|' + m.role"))
    moved = model.render([system(), user(), assistant(), user("two")])
    assert moved.adaptations == ("system-message-moved",)
    assert moved.text == turns("user: one", "assistant: said", "system: sys", "user: two")
    assert model.render([system(), user()]).adaptations == ()


def test_system_messages_that_come_in_another_order_are_joined() -> None:
    turned = "{%- if messages[1].role == 'system' %}{%- set messages = [messages[1], messages[0]] + messages[2:] %}"
    prompt = model_of(turned + "{%- endif %}" + PLAIN).render([system(), system("more"), user()])
    assert (prompt.text, prompt.adaptations) == (turns("system: sys\n\nmore", "user: one"), ("system-messages-joined",))


def test_joined_messages_become_a_system_message() -> None:
    both = "['system', 'developer']"
    model = model_of(raising(f"m.role in {both} and before.role in {both}"))
    prompt = model.render([{"role": "developer", "content": text} for text in ("dev", "more")] + [user()])
    assert (prompt.text, prompt.adaptations) == (turns("system: dev\n\nmore", "user: one"), ("system-messages-joined",))


def test_a_name_written_for_only_one_of_two_calls_is_detected() -> None:
    model = model_of(changed("c.function.name", "(c.function.name if loop.first else '')"))
    prompt = model.render([user(), calls("a", "b"), result("a"), result("b")])
    assert prompt.adaptations == ("parallel-calls-split",)
    assert prompt.text.count('"name": "find"') == 2


def test_a_call_after_its_result_is_detected() -> None:
    """In a conversation of three messages; there, no content may contain a call either."""
    late = "{%- for c in messages[loop.index0 - 1].tool_calls if m.role == 'tool' and messages | length == 3 %}"
    late += "{{ '<late>' + c.function.name + c.function.arguments | tojson }}{%- endfor %}"
    early = changed("m.tool_calls or []", "(m.tool_calls if messages | length != 3 else []) or []")
    model = model_of(raising("'<tool_call>' in m.content", changed("'<|end|>' }}", "'<|end|>' }}" + late, early)))
    messages = [user(), calls("a"), result("a")]
    with pytest.raises(
        NotDelivered, match=r"^messages\[1\] \(assistant\): its call of find \(after its result\) is lost"
    ):
        model.render(messages)
    assert model.render([*messages, assistant()]).adaptations == ()


def test_reasoning_of_answers_that_are_joined_is_joined() -> None:
    model = model_of(raising("m.role == before.role", THOUGHT))
    prompt = model.render(
        [user(), assistant("a", reasoning_content="b"), assistant("c", reasoning_content="d"), user("two")]
    )
    assert prompt.text == turns("user: one", "assistant: <think>b\n\nd</think>a\n\nc", "user: two")


def test_reasoning_that_is_there_stays_where_empty_reasoning_is_added() -> None:
    model = model_of(raising("m.role == 'assistant' and m.reasoning_content is not defined", THOUGHT))
    prompt = model.render([user(), THINKING, user("two"), assistant(), user("three")])
    assert prompt.adaptations == ("empty-reasoning-added",)
    assert prompt.text == turns(
        "user: one", "assistant: <think>thought</think>said", "user: two", "assistant: said", "user: three"
    )


def test_lossy_takes_what_loses_least() -> None:
    """The one that is cut off is lost in any case; the developer's text need not be."""
    roles = changed("{%- for m in messages %}", "{%- for m in messages if m.role != 'developer' %}")
    cut = changed(CONTENT, "((m.content or '')[:5] if m.role == 'user' else (m.content or ''))", roles)
    prompt = model_of(cut).render([{"role": "developer", "content": "dev"}, user("longer")], lossy=True)
    assert (prompt.text, prompt.lost) == (turns("system: dev", "user: longe"), ("messages[1] (user): its text",))
    assert prompt.adaptations == ("developer-as-system",)


def test_reasoning_that_is_left_out_is_reported() -> None:
    model = model_of(PLAIN)
    assert model.render([user(), THINKING, user("two")]).adaptations == ("reasoning-left-out",)
    assert model_of(THOUGHT).render([user(), THINKING, user("two")]).adaptations == ()


def test_tools_that_lose_a_conversation_go_in_as_prose() -> None:
    lost = changed(LOOP, "{%- for m in messages if not tools or m.content != 'odd' %}")
    model = model_of(lost)
    prompt = model.render([user("odd"), assistant(), user()], [TOOL])
    assert (prompt.strategy, prompt.adaptations) == ("prompt", ("template-loses-with-tools",))
    assert prompt.text.endswith(turns("user: odd", "assistant: said", "user: one"))
    assert model.render([user("even"), assistant(), user()], [TOOL]).adaptations == ()


# What cannot be delivered

SPLITS = changed(CONTENT, "(m.content.split('</think>')[-1] if m.content else '')")
REPLACES = changed(CONTENT, "(m.content or '').replace('</think>', '')")
UNDELIVERED: dict[str, tuple[str, list[dict[str, Any]], str, str]] = {
    "a text is cut off": (
        changed(CONTENT, "(m.content or '')[:20]"),
        [system("Be brief."), user("a text that is longer than twenty")],
        "messages[1] (user): its text",
        turns("system: Be brief.", "user: a text that is longe"),
    ),
    "long texts alone are cut off": (
        changed(CONTENT, "((m.content or '')[:3] if (m.content or '') | length > 20 else (m.content or ''))"),
        [user("a text that is longer than twenty")],
        "messages[0] (user): its text",
        turns("user: a t"),
    ),
    "what is looked for in a text is taken out of it": (
        REPLACES,
        [user("What is </think> for?")],
        'messages[0] (user): "</think>" in its text',
        turns("user: What is  for?"),
    ),
    "the text before it is removed too": (
        SPLITS,
        [user("What is </think> for?")],
        "messages[0] (user): its text",
        turns("user:  for?"),
    ),
    "a text is changed": (
        changed(CONTENT, "(m.content or '') | upper"),
        [user()],
        "messages[0] (user): its text",
        turns("user: ONE"),
    ),
    "a role is left out": (
        changed(LOOP, "{%- for m in messages if m.role != 'assistant' or m.tool_calls %}"),
        [user(), assistant(), user("two")],
        "messages[1] (assistant): its text",
        turns("user: one", "user: two"),
    ),
    "a later system message is hoisted, and no user may say its text": (
        raising("m.role == 'user' and 'more' in m.content", HOISTS),
        [system(), user(), assistant(), system("more"), user("two")],
        "messages[3] (system): its text (before what comes ahead of it)",
        turns("system: sys", "system: more", "user: one", "assistant: said", "user: two"),
    ),
    "a text appears again after what follows it": (
        PLAIN + "{{ '<again>' + messages[0].content }}",
        [user(), assistant(), user("two")],
        "messages[1] (assistant): its text (before what comes ahead of it)",
        turns("user: one", "assistant: said", "user: two") + "<again>one",
    ),
    "turns come in another order": (
        changed(LOOP, "{%- for m in messages | reverse %}"),
        [user(), assistant(), user("two")],
        "messages[1] (assistant): its text (before what comes ahead of it)",
        turns("user: two", "assistant: said", "user: one"),
    ),
    "results are swapped, and calls are rejected alone": (
        raising(
            "messages[0].content == 'odd' and (m.tool_calls or []) | length == 1 or 'Result of' in m.content", SWAPS
        ),
        [user("odd"), calls("a", "b"), result("a"), result("b")],
        "messages[2] (tool): its text (in another order than the results)",
        turns("user: odd", f"assistant: {written('a', 'b')}", "tool: result b", "tool: result a"),
    ),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("what", UNDELIVERED)
def test_lost_text_is_rejected_in_one_line_or_reported(what: str) -> None:
    text, messages, lost, as_it_is = UNDELIVERED[what]
    model = model_of(text)
    with pytest.raises(NotDelivered) as raised:
        model.render(messages)
    assert str(raised.value) == (
        f"{lost} is lost: small/chat_template.jinja does not render it, and no adaptation helps; "
        "change the message, or render with `--lossy` (in Python: lossy=True)"
    )
    prompt = model.render(messages, lossy=True)
    assert (prompt.text, prompt.lost[:1]) == (as_it_is, (lost,))
    assert prompt.to_dict()["lost"] == list(prompt.lost)


def test_texts_that_the_template_does_not_change_are_delivered_by_it() -> None:
    assert model_of(REPLACES).render([user("What is it for?")]).text == turns("user: What is it for?")
    assert model_of(changed(CONTENT, "(m.content or '')[:20]")).render([user()]).text == turns("user: one")
    whole = model_of(SPLITS).render([user(), assistant("<think>thought</think>said"), user("two")])
    assert (whole.text, whole.lost) == (turns("user: one", "assistant: said", "user: two"), ())
    assert whole.adaptations == ("reasoning-left-out",)


# Markers in assistant texts

OPENED = SPLITS.replace("'<|assistant|>' if", "'<|assistant|><think>\\n' if")
READS_REASONING = changed(
    CONTENT, "(m.content if m.reasoning_content is string else (m.content or '').split('</think>')[-1])"
)
NEUTRALIZED = "assistant-markers-neutralized"


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("The tag </think> ends it.", "The tag <·/think> ends it."),
        ("a\n```\n</think>\n```\nb", "a\n```\n<·/think>\n```\nb"),
        ("one <think>two</think> three", "one <·think>two<·/think> three"),
        ("</think>", "<·/think>"),
        ("<think>thought</think>One </think> two", "One <·/think> two"),
        ("thought</think>\nsaid", "thought<·/think>\nsaid"),
    ],
)
def test_a_marker_in_an_assistant_text_does_not_cut_it(content: str, shown: str) -> None:
    prompt = model_of(SPLITS).render([user(), assistant(content), user("two")])
    assert prompt.text.split() == turns("user: one", f"assistant: {shown}", "user: two").split()
    assert NEUTRALIZED in prompt.adaptations
    assert ("reasoning-left-out" in prompt.adaptations) == content.startswith("<think>")


def test_a_marker_in_an_assistant_text_stays_if_the_template_reads_reasoning_elsewhere() -> None:
    content = "The tag </think> ends it."
    prompt = model_of(READS_REASONING).render(
        [user(), assistant(content), user("two"), assistant("More."), user("three")]
    )
    assert prompt.text == turns("user: one", f"assistant: {content}", "user: two", "assistant: More.", "user: three")
    assert prompt.adaptations == ("empty-reasoning-added",)


@pytest.mark.parametrize(
    ("content", "reasoning"),
    [
        ("thought\n</think>\n\nsaid", True),
        ("thought</think> \nsaid", True),
        ("thought</think>said", False),
        ("```\ncode\n```\n</think>\nsaid", True),
        ("```\ncode\n</think>\n```\nsaid", False),
        ("a <think>b\n</think>\nc", False),
    ],
)
def test_text_before_an_end_marker_is_reasoning_if_the_prompt_opens_it(content: str, reasoning: bool) -> None:
    model = model_of(OPENED)
    assert model.profile.prefill == "<think>\n"
    prompt = model.render([user(), assistant(content), user("two")])
    assert (prompt.adaptations == ("reasoning-left-out",)) == reasoning
    assert (NEUTRALIZED in prompt.adaptations) != reasoning


def test_a_marker_that_the_template_takes_out_of_an_assistant_text_is_not_lost() -> None:
    prompt = model_of(REPLACES).render([user(), assistant("The tag </think> ends it."), user("two")])
    assert "assistant|>The tag <·/think> ends it.<" in prompt.text
    assert prompt.adaptations == (NEUTRALIZED,)


def test_a_marker_in_a_part_of_an_assistant_text_does_not_cut_it() -> None:
    parts = "(m.content if m.content is string else (m.content or []) | map(attribute='text') | join('|'))"
    model = model_of(changed(CONTENT, f"{parts}.split('</think>')[-1]"))
    content = [{"type": "text", "text": "one </think> two"}, {"type": "text", "text": "three"}]
    prompt = model.render([user(), assistant(content), user("two")])
    assert "one <·/think> two" in prompt.text
    assert NEUTRALIZED in prompt.adaptations


def test_an_assistant_text_that_no_dot_saves_is_lost() -> None:
    """The template drops a text with the marker, and a text with the dot."""
    dropped = "('' if '</think>' in (m.content or '') or '·' in (m.content or '') else (m.content or ''))"
    model = model_of(changed(CONTENT, dropped))
    messages = [user(), assistant("The tag </think> ends it."), user("two")]
    with pytest.raises(NotDelivered, match=r"^messages\[1\] \(assistant\): its text"):
        model.render(messages)
    prompt = model.render(messages, lossy=True)
    assert prompt.lost == ("messages[1] (assistant): its text",)
    assert NEUTRALIZED not in prompt.adaptations


SPELLED = {
    "e": "a &#34;b&#34; &lt;c&gt; &amp; &#39;d&#39; é",
    "replace('&', '&amp;') | replace('<', '&lt;') | replace('>', '&gt;')": "a \"b\" &lt;c&gt; &amp; 'd' é",
    "replace('&', '&amp;') | replace('<', '&lt;') | replace('>', '&gt;') | replace('\"', '&quot;') "
    '| replace("\'", "&#x27;")': "a &quot;b&quot; &lt;c&gt; &amp; &#x27;d&#x27; é",
    "tojson": "a \\\"b\\\" <c> & 'd' é",
    "tojson(ensure_ascii=true)": "a \\\"b\\\" <c> & 'd' \\u00e9",
    "tojson | tojson": "a \\\\\\\"b\\\\\\\" <c> & 'd' é",
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("spelling", SPELLED)
def test_a_text_may_be_spelled_as_markup_or_json(spelling: str) -> None:
    model = model_of(changed(CONTENT, f"((m.content or '') | {spelling})"))
    prompt = model.render([user("a \"b\" <c> & 'd' é"), assistant(), user()])
    assert prompt.adaptations == ()
    assert [prompt.text[span.begin : span.end] for span in prompt.spans] == [SPELLED[spelling], "said", "one"]


def test_a_conversation_that_is_always_rejected_names_its_message() -> None:
    model = model_of(raising("m.content == 'three'"))
    for lossy in (False, True):
        with pytest.raises(TemplateError, match=r"^messages\[2\] \(user\): .*: the template raises: not this$"):
            model.render([user(), assistant(), user("three"), assistant()], lossy=lossy)
    with pytest.raises(TemplateError, match=r"^small/chat_template.jinja, line 1: the template raises: not this$"):
        model.render([user("three"), assistant(), user()])


# Where the texts are


def test_spans_show_where_each_text_is() -> None:
    messages = [system(" sys\n"), user("one"), calls("a", text="one"), result("a"), assistant("on"), user("one one")]
    prompt = model_of(PLAIN).render(messages, [TOOL])
    located = [(prompt.text[span.begin : span.end], span.message, span.role) for span in prompt.spans]
    assert located == [
        ("Weather at a place.", -1, ""),
        ("sys", 0, "system"),
        ("one", 1, "user"),
        ("one", 2, "assistant"),
        ("at a", 2, "assistant"),
        ("result a", 3, "tool"),
        ("on", 4, "assistant"),
        ("one one", 5, "user"),
    ]


def test_the_header_of_a_result_that_repeats_the_name_of_its_call_is_not_part_of_the_call() -> None:
    """Gemma 4 and gpt-oss look up the name. Only its name shows where a call without arguments is."""
    text = (
        "{{ tools | tojson if tools }}{% set ns = namespace(name='') %}{% for m in messages %}"
        "{% for c in m.tool_calls or [] %}{% set ns.name = c.function.name %}"
        "[call {{ ns.name }} {{ c.function.arguments | tojson }}]{% endfor %}"
        "{{ '[result of ' + ns.name + ']' if m.role == 'tool' }}{{ m.content }}\n{% endfor %}"
    )
    function = {"name": "weather", "arguments": {}}
    asked = {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "type": "function", "function": function}]}
    prompt = model_of(text).render([user("one"), asked, result("a")], [TOOL])
    assert "[result of weather]" in prompt.text
    assert [prompt.text[span.begin - 6 : span.end] for span in prompt.spans if span.message == 1] == ["[call weather"]


@pytest.mark.sample(0)
def test_the_same_request_gives_the_same_prompt() -> None:
    for name, (messages, needing, *_) in list(NEEDED.items())[::4]:
        model = model_of(needing)
        first = model.render(messages, [TOOL])
        assert model.render(messages, [TOOL]) == first, name
        assert fresh_model(needing).render(messages, [TOOL]) == first, name


WORDS = ("Zq0z", "Zq3z", "Zq12z", "97531000008642", "9753100001086420", "Zq")


@pytest.mark.parametrize("word", WORDS)
def test_the_words_of_a_twin_in_a_request_are_not_mistaken(word: str) -> None:
    model = model_of(PLAIN)
    call = {"id": "a", "type": "function", "function": {"name": word, "arguments": {word: f"is {word}"}}}
    tool = {"name": word, "parameters": {"type": "object", "properties": {word: {"enum": [word]}}}}
    messages = [user(f"{word} {word}"), assistant(word, tool_calls=[call]), result("a"), user(word)]
    arguments = json.dumps({word: f"is {word}"})
    called = f'<tool_call>{{"name": "{word}", "arguments": {arguments}}}</tool_call>'
    expected = turns(f"user: {word} {word}", f"assistant: {word}{called}", "tool: result a", f"user: {word}")
    prompt = model.render(messages, [tool])
    assert (prompt.strategy, prompt.adaptations) == ("template", ())
    assert prompt.text.endswith(expected)
    shown = [prompt.text[span.begin : span.end] for span in prompt.spans]
    assert shown == [f"{word} {word}", word, f"is {word}", "result a", word]
    in_words = model.render(messages, [tool], "prompt")
    assert in_words.adaptations == ("calls-as-content", "results-as-user-messages")


AWKWARD = st.text() | st.sampled_from(
    (*WORDS, '"', "it's", "\\", "\\n", "</think>", " a ", "é\u2028", "<b>&</b>", "a\u0085")
)
VALUES = st.recursive(
    AWKWARD | st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(AWKWARD, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(AWKWARD, VALUES, max_size=3)


@st.composite
def as_json(draw: st.DrawFn) -> str:
    """An object as JSON text, in any layout, with any of its characters escaped."""
    escaped, ascii, whitespace = (
        draw(st.sampled_from("abz/1é")),
        draw(st.booleans()),
        draw(st.sampled_from(("", " ", "\n  "))),
    )

    def text(value: str) -> str:
        spelled = (
            f"\\u{ord(one):04x}" if one == escaped else json.dumps(one, ensure_ascii=ascii)[1:-1] for one in value
        )
        return f'"{"".join(spelled)}"'

    def laid_out(value: Any) -> str:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, list):
            return f"[{whitespace}" + f",{whitespace}".join(map(laid_out, value)) + f"{whitespace}]"
        if isinstance(value, dict):
            members = (
                f"{json.dumps(key, ensure_ascii=ascii)}{whitespace}:{whitespace}{laid_out(inner)}"
                for key, inner in value.items()
            )
            return f"{{{whitespace}" + f",{whitespace}".join(members) + f"{whitespace}}}"
        return "1.50e3" if isinstance(value, float) and abs(value) == float("inf") else json.dumps(value)

    return laid_out(draw(ARGUMENTS))


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    messages = [user(draw(AWKWARD))]
    for at in range(draw(st.integers(0, 3))):
        given = draw(st.none() | ARGUMENTS | as_json())
        call = {"id": str(at), "type": "function", "function": {"name": "find", "arguments": given}}
        messages.append(assistant(draw(AWKWARD), **({} if given is None else {"tool_calls": [call]})))
        messages.append(user(draw(AWKWARD)))
    return messages


def shown(messages: list[dict[str, Any]], *, dump: Any = json.dumps) -> str:
    """As a template shows them."""
    rendered = []
    for message in messages:
        rendered.append(f"<|{message['role']}|>{message['content']}")
        for call in message.get("tool_calls", ()):
            given = call["function"]["arguments"]
            written = given if isinstance(given, str) else dump(given)
            rendered.append(f"<call>{call['function']['name']}({written})</call>")
        rendered.append("<|end|>")
    return "".join(rendered)


def unicode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@given(conversations(), st.sampled_from((json.dumps, unicode)))
@example([user("a"), assistant("a" * 3), user("aa")], json.dumps)
@example(
    [user(), assistant("", tool_calls=[{"function": {"name": "find", "arguments": '{"x": 1e5, "y": "\\u0041"}'}}])],
    unicode,
)
def test_every_text_is_found_where_it_occurs(messages: list[dict[str, Any]], dump: Any) -> None:
    twin = sentinel_request_of(messages, None, ["</think>"])
    prompt, twin_prompt = shown(messages, dump=dump), shown(twin.messages, dump=dump)
    spans = aligned(prompt, twin_prompt, twin)
    assert spans is not None
    assert [number for _, _, number in spans] == list(range(len(twin.pieces)))
    for begin, end, number in spans:
        piece, there = twin.pieces[number], prompt[begin:end]
        if piece.number:
            assert float(there) == float(piece.text)
        elif piece.written:
            assert json.loads(f'"{there}"') == piece.text
        else:
            assert there in spellings(piece.text)
    delivery = delivered(messages, twin, twin.messages, twin_prompt)
    assert (delivery.missing, delivery.misplaced, delivery.repeated) == ((), (), ())
    assert proved(messages, twin, twin_prompt, twin.messages, prompt).missing == ()


def test_a_number_that_python_does_not_write_stays_as_it_is() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "find", "arguments": {"at": 10**5000, "days": 3}}}
    twin = sentinel_request_of([assistant("", tool_calls=[call])], None)
    assert twin.messages[0]["tool_calls"][0]["function"]["arguments"]["at"] == 10**5000
    assert [piece.text for piece in twin.pieces] == ["3"]
    with pytest.raises(BadMessages, match=r"^messages\[1\]\.tool_calls\[0\]: .*an integer of more than 4300 digits"):
        model_of(PLAIN).render([user(), assistant("", tool_calls=[call]), result("a")])


@given(conversations())
def test_arguments_that_are_handed_on_as_objects_are_found_too(messages: list[dict[str, Any]]) -> None:
    """A template's JSON text of arguments that were passed as text in another layout."""

    def parsed(originals: list[dict[str, Any]]) -> list[dict[str, Any]]:
        copies: list[dict[str, Any]] = json.loads(json.dumps(originals))
        for message in copies:
            for call in message.get("tool_calls", ()):
                given = call["function"]["arguments"]
                call["function"]["arguments"] = json.loads(given) if isinstance(given, str) else given
        return copies

    twin = sentinel_request_of(messages, None)
    prompt, twin_prompt = (shown(parsed(side), dump=unicode) for side in (messages, twin.messages))
    spans = aligned(prompt, twin_prompt, twin)
    assert spans is not None
    assert len(spans) == len(twin.pieces)


@given(conversations(), st.integers(0, 10**9))
def test_a_prompt_in_which_anything_else_is_changed_is_not_aligned(messages: list[dict[str, Any]], at: int) -> None:
    twin = sentinel_request_of(messages, None)
    prompt, twin_prompt = shown(messages), shown(twin.messages)
    at %= len(prompt)
    other = prompt[:at] + ("~" if prompt[at] != "~" else "+") + prompt[at + 1 :]
    assert aligned(other, twin_prompt, twin) is None
    assert aligned(prompt + "~", twin_prompt, twin) is None
