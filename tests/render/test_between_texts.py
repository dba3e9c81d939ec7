"""A template that writes other text around messages depending on their content: what is done about it, or reported.

All are made of `HONEST`, which does no such thing.
"""

from __future__ import annotations

from typing import Any

import pytest
from delivery_cases import model_of
from lying_templates import ANSWER, ARGUMENTS, HONEST, QUESTION, RESULT
from tool_coverage_cases import DELETE, GET, changed

from toolfmt.errors import NotDelivered
from toolfmt.render.verify.between_texts import around, count_word
from toolfmt.render.verify.sentinel_request import sentinel_request_of

NAME = "call.function.name"
SECRET = "'secret' in messages[-1].content"
"""True for the last question of `TALK`, and of no twin's: the text is located with letters only."""


def call(id: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "get", "arguments": arguments}}


def talk(question: str = "What of the secret?", **arguments: Any) -> list[dict[str, Any]]:
    arguments = arguments or {"path": "Rome", "days": 5, "deep": True}
    return [
        {"role": "user", "content": "Look at 5 of them."},
        {"role": "assistant", "content": "", "tool_calls": [call("a", **arguments), call("b", **arguments)]},
        {"role": "tool", "tool_call_id": "a", "content": "It is 50."},
        {"role": "tool", "tool_call_id": "b", "content": "It is 7."},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": question},
    ]


def for_secret(old: str, now: str) -> str:
    return changed(old, f"({now} if {SECRET} else {old})")


ALTERED = {
    "the name of a call, longer": for_secret(NAME, f"{NAME} + '_all'"),
    "the name of a call, another": for_secret(NAME, "'drop'"),
    "a key": for_secret(ARGUMENTS, f"({ARGUMENTS} | replace('days', 'hours'))"),
    "a key of a truth value, longer": for_secret(ARGUMENTS, f"({ARGUMENTS} | replace('deep', 'deepest'))"),
    "a number": for_secret(ARGUMENTS, f"({ARGUMENTS} | replace('5', '50'))"),
    "a number, of a part": for_secret(ARGUMENTS, f"({ARGUMENTS} | replace('5', '5.5'))"),
    "a number, longer before": for_secret(ARGUMENTS, f"({ARGUMENTS} | replace('5', '25'))"),
    "a truth value": for_secret(ARGUMENTS, f"({ARGUMENTS} | replace('true', 'false'))"),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("looked_for", ["secret", "the secret"])
@pytest.mark.parametrize("what", ALTERED)
def test_a_call_that_is_altered_for_a_text_is_written_into_the_content(what: str, looked_for: str) -> None:
    """A text of more than one word is in the twin too."""
    model = model_of(ALTERED[what].replace("'secret'", f"'{looked_for}'"))
    prompt = model.render(talk(), [GET, DELETE])
    assert (prompt.strategy, prompt.adaptations) == ("template", ("calls-as-content",))
    assert prompt.text.count('{"name": "get", "arguments": {"path": "Rome", "days": 5, "deep": true}}') == 2
    assert model.render(talk("Go on."), [GET, DELETE]).adaptations == ()


def test_a_call_without_arguments_that_is_altered_for_a_text_is_too() -> None:
    call_message = {"role": "assistant", "content": "", "tool_calls": [call("a"), call("b")]}
    prompt = model_of(ALTERED["the name of a call, longer"]).render([talk()[0], call_message, *talk()[2:]], [GET])
    assert prompt.adaptations == ("calls-as-content",)
    assert prompt.text.count('{"name": "get", "arguments": {}}') == 2


def test_a_key_without_a_name_is_nothing_to_look_for() -> None:
    nameless: dict[str, Any] = {"": 1}
    assert model_of(HONEST).render(talk(**nameless), [GET]).adaptations == ()


def test_a_role_that_is_altered_for_a_text_is_lost() -> None:
    model = model_of(changed(QUESTION, QUESTION.replace("user", "' + ('system' if " + SECRET + " else 'user') + '")))
    with pytest.raises(NotDelivered, match=r"^messages\[0\] \(user\): its role is lost"):
        model.render(talk(), [GET])
    assert model.render(talk(), [GET], lossy=True).lost == (
        "messages[0] (user): its role",
        "messages[5] (user): its role",
    )


@pytest.mark.sample(0)
def test_a_text_that_is_repeated_for_some_values_is_reported_or_moved() -> None:
    result = model_of(for_secret(RESULT, f"{RESULT} + '; ' + message.content"))
    assert result.render(talk(), [GET]).adaptations == ("results-as-user-messages",)
    twice = f"(message.content + '; ' + message.content if {SECRET} else message.content)"
    question = model_of(changed(QUESTION, QUESTION.replace("message.content", twice)))
    assert question.render(talk(), [GET]).adaptations == ("text-repeated", "written-otherwise")
    for model in (result, question):
        assert model.render(talk("Go on."), [GET]).adaptations == ()


@pytest.mark.parametrize(
    "how",
    ["message.content + (' Use no tools.' if 'secret' in message.content else '')",
     "('' if 'secret' in message.content else 'Question: ') + message.content"],
)  # fmt: skip
def test_text_added_or_left_out_for_some_values_is_reported(how: str) -> None:
    model = model_of(changed(QUESTION, QUESTION.replace("message.content", how)))
    assert model.render(talk(), [GET]).adaptations == ("written-otherwise",)
    assert model.render(talk("Go on."), [GET]).adaptations == ()


def test_a_text_is_found_after_an_added_text_as_in_the_twin() -> None:
    """`ok` is in the added sentence too, and `assistant` in what follows every question."""
    added = "{{- 'I took it: ' if 'secret' in messages[-1].content }}"
    answer = "(message.content or '') }}"
    model = model_of(changed(answer, f"'' }}}}{added}{{{{- {answer}"))
    prompt = model.render([*talk()[:-2], {"role": "user", "content": "assistant"}, *talk()[-2:]], [GET])
    assert (prompt.adaptations, prompt.lost) == (("written-otherwise",), ())
    (place,) = (span for span in prompt.spans if span.message == 5)
    assert prompt.text[place.begin - 4 : place.end] == "it: ok"


def test_the_place_with_the_same_on_both_sides_comes_first() -> None:
    twin = sentinel_request_of([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}], None)
    found = around("<a>x<q> <a>x<b>y<c>", "<a>Zq0z<b>Zq1z<c>", twin, ["text"])
    assert [(begin, end) for begin, end, _ in found.places] == [(11, 12), (15, 16)]
    assert [(gap.expected, gap.shown) for gap in found.gaps] == [("<a>", "<a>x<q> <a>"), ("<b>", "<b>"), ("<c>", "<c>")]


def test_separate_occurrences_of_a_string_are_counted() -> None:
    assert count_word("key", "Zq0zkeyZq1z key 'key' monkey keys") == 3
    assert count_word('a"b', '"a\\"b": 1') == 1
    assert count_word("", "a") == 0


def test_marks_around_reasoning_are_the_template_s_to_write() -> None:  # XMB480's Qwen3.6
    thought = "(message.content.split('</think>')[0] | replace(begin, '') | trim)"
    how = f"('<think>\\n' + {thought} + '\\n</think>' + message.content.split('</think>')[-1])"
    source = changed(ANSWER, ANSWER.replace("(message.content or '')", how))
    answer = {"role": "assistant", "content": "<think>\nthought\n</think>\n\nanswer"}
    prompt = model_of("{%- set begin = '<think>' %}" + source).render([talk()[0], answer, talk()[-1]])
    assert prompt.adaptations == ()
    assert "<|im_start|>assistant\n<think>\nthought\n</think>\n\nanswer<|im_end|>" in prompt.text


def test_a_text_between_cdata_marks_is_that_text() -> None:
    wrapped = "(message.content if '<' not in message.content else '<![CDATA[' + message.content + ']]>')"
    model = model_of(changed(QUESTION, QUESTION.replace("message.content", wrapped)))
    prompt = model.render(talk("Is 1 < 2?"), [GET])
    assert prompt.adaptations == ()
    assert "<![CDATA[Is 1 < 2?]]>" in prompt.text
