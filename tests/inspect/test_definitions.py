"""What of a tool's definition reaches the prompt, on templates that write it in one way each."""

from __future__ import annotations

import pytest
from delivery_cases import model_of
from tool_part_cases import text, tool

from toolfmt.errors import NotDelivered
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.probe.differences import TextChange, change, first_change
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.sections.definitions.escaping import QUOTED, how_quoted
from toolfmt.inspect.sections.definitions.parts import PARTS

NO_TYPE = "UndefinedError: 'dict object' has no attribute 'type'"
PLAIN = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}"
EACH = "{% for tool in tools or [] %}{% set f = tool.function %}"
JSON = "{% for tool in tools or [] %}{{ tool | tojson }}\n{% endfor %}" + PLAIN
SIGNATURE = (
    EACH
    + "def {{ f.name }}({% for name, p in f.parameters.properties.items() %}{{ name }}: {{ p.type }}, {% endfor %})"
    '\n"""{{ f.description }}"""\n{% endfor %}' + PLAIN
)
"""Keeps names, types and the tool's description; nothing else."""


def parts(report: Report, answer: str) -> set[str]:
    return {name for name, result in report.sections.definitions.items() if result.answer == answer}


def after(each: str) -> Report:
    """The report on a template that writes this for every tool's function `f`, and its name."""
    return inspect_template(EACH + "{{ f.name }} " + each + "{% endfor %}" + PLAIN)


def codes(report: Report) -> list[tuple[str, str]]:
    return [(found.code, found.severity) for found in (*report.findings, *report.notes) if found.code[:4] == "TF04"]


def test_a_definition_printed_as_json_keeps_everything() -> None:
    report = inspect_template(JSON)
    assert list(report.sections.definitions) == list(PARTS)
    assert parts(report, "yes") == set(PARTS)
    assert codes(report) == []


def test_a_signature_keeps_what_it_writes() -> None:
    report = inspect_template(SIGNATURE)
    kept = {"name", "description", "parameter_names", "types", "nullable", "several_tools", "non_ascii", "quoting"}
    # Without the wrapper `tool.function` is undefined, and so is everything read from it. A tool with no description or
    # with an empty schema contains nothing that this template reads further.
    assert parts(report, "yes") == kept | {"no_descriptions"}
    assert parts(report, "error") == {"without_wrapper", "no_parameters"}
    assert "no_parameters" in report.sections.definitions


def test_what_matters_of_the_parts_that_are_dropped_is_one_finding() -> None:
    report = inspect_template(SIGNATURE)
    reported = next(finding for finding in report.findings if finding.code == "TF040")
    assert reported.message == (
        "The prompt does not contain these parts of a tool's definition: the descriptions of parameters, "
        "which parameters are required, the allowed values (`enum`), the properties of objects, "
        "the types of list items, the types in `anyOf` and what `$ref` points to."
    )


KEYS_AS_PARAMETERS = (
    "{% macro shown(properties) %}{% for name, p in properties.items() %}{% if name not in ['type', 'description'] %}"
    "{{ name }}:{{ p.type }} {{ p.description }}"
    "{% if p.properties %}{{ '{' }}{{ shown(p.properties) }}}{% elif p.type == 'object' %}{{ '{' }}{{ shown(p) }}}"
    "{% endif %}{% endif %}{% endfor %}{% endmacro %}"
    + EACH
    + "{{ f.name }}: {{ f.description }}\n{{ shown(f.parameters.properties) }}\n{% endfor %}"
    + PLAIN
)


def test_additional_properties_shown_as_a_parameter_are_named() -> None:
    # Gemma 4: `"additionalProperties": {"type": "string"}` of an object without `properties`
    report = inspect_template(KEYS_AS_PARAMETERS)
    answer = report.sections.definitions["additional_properties"]
    assert (answer.answer, answer.outcome) == ("no", "as-parameter")
    (reported,) = (finding for finding in report.findings if finding.code == "TF040")
    what = "the `additionalProperties` of an object without `properties`, which the prompt shows as a parameter named "
    what += "additionalProperties."
    assert reported.message.endswith(what)
    typed = {"type": "object", "description": "Sizes.", "additionalProperties": {"type": "integer"}}
    prompt = model_of(KEYS_AS_PARAMETERS).render([{"role": "user", "content": "Hello"}], [tool({"sizes": typed})])
    assert prompt.adaptations == ("parameters-in-description",)
    assert '- sizes (object, additionalProperties {"type":"integer"}): Sizes.' in prompt.text


def test_additional_properties_may_be_shown_by_their_type_alone() -> None:
    each = "{% for name, p in f.parameters.properties.items() %}{{ name }} "
    each += "{{ (p.additionalProperties or {}).type }}{% endfor %}"
    answer = after(each).sections.definitions["additional_properties"]
    assert (answer.answer, answer.outcome) == ("yes", "")
    assert answer.words == "the type of further properties is written, and not that there are none"


NAMES_ONLY = EACH + "{{ f.name }} {{ f.parameters.properties | join(' ') }}\n{% endfor %}" + PLAIN
NO_QUESTIONS = "tools"
"""Loops of a template that accepts no request without tools."""


@pytest.mark.parametrize(
    ("template", "fix", "fixed_by", "strategy"),
    [
        (SIGNATURE, "State them in the tool's description; `toolfmt render` does this.", "render", "template"),
        # Command R+, tool_use
        (
            SIGNATURE.replace("tools or []", NO_QUESTIONS),
            "State them in the tool's description; `toolfmt render` does this.",
            "render",
            "template",
        ),
        (NAMES_ONLY, "Describe the tools in a system message; `toolfmt render` does this.", "render", "prompt"),
        (
            NAMES_ONLY.replace("tools or []", NO_QUESTIONS),
            "State them in a message: the template renders no descriptions and rejects questions without tools.",
            "request",
            "",
        ),
    ],
)
def test_what_to_do_about_dropped_parts_is_what_render_does(
    template: str, fix: str, fixed_by: str, strategy: str
) -> None:
    (reported,) = (finding for finding in inspect_template(template).findings if finding.code == "TF040")
    assert (reported.fix, reported.fixed_by) == (fix, fixed_by)
    definition = tool({"city": text("The city.", enum=["Oslo"])})
    if strategy:
        prompt = model_of(template).render([{"role": "user", "content": "Hello"}], [definition])
        assert (prompt.strategy, prompt.lost) == (strategy, ())
    else:
        with pytest.raises(NotDelivered, match="does not show its description"):
            model_of(template).render([{"role": "user", "content": "Hello"}], [definition])


def test_a_template_that_shows_no_tools_has_nothing_to_look_at() -> None:
    assert inspect_template(PLAIN).sections.definitions == {}


def test_tools_that_are_shown_only_with_a_system_message_are_inspected_there() -> None:
    report = inspect_template("{% if messages[0].role == 'system' %}" + JSON.replace(PLAIN, "") + "{% endif %}" + PLAIN)
    assert report.sections.definitions["enum"].answer == "yes"


@pytest.mark.sample(9)
@pytest.mark.parametrize(
    ("each", "part", "answer"),
    [
        # Types: TypeScript has one for numbers, which is not a loss; a template with one word for all has lost them.
        ("{% for p in f.parameters.properties.values() %}"
         "{{ 'number' if p.type == 'integer' else p.type }}{% endfor %}", "types", "yes"),
        ("{% for p in f.parameters.properties.values() %}{{ 'any' }}{% endfor %}", "types", "no"),
        ("{{ f.parameters.required | tojson }}", "required", "yes"),
        ("{{ f.parameters.properties | tojson }}", "required", "no"),
        # The number of required names does not show which.
        ("{{ f.parameters.required | length }}", "required", "no"),
        ("{% for p in f.parameters.properties.values() %}{{ p.enum | first }}{% endfor %}", "enum", "no"),
        ("{% for p in f.parameters.properties.values() %}{{ p.enum | join(', ') }}{% endfor %}", "enum", "no"),
        ("{% for p in f.parameters.properties.values() %}{{ p.enum | join(', ') }}{{ p.const }}"
         "{{ p.get('items', '') | tojson }}{% endfor %}", "enum", "yes"),
        # The description of a list's items is one as well.
        ("{% for p in f.parameters.properties.values() %}{{ p.properties | default({}) | tojson }}{% endfor %}",
         "nested_descriptions", "no"),
        ("{{ f.parameters | tojson }}", "nested_descriptions", "yes"),
        # One level of an object is not all of it.
        ("{% for p in f.parameters.properties.values() %}{{ p.properties | default({}) | join }}{% endfor %}",
         "nested_names", "no"),
        ("{{ f.parameters['$defs'] | default({}) | tojson }}", "references", "yes"),
        ("{% for p in f.parameters.properties.values() %}{{ p['$ref'] }}{% endfor %}", "references", "no"),
        ("{% for p in f.parameters.properties.values() %}{{ p.type if p.type is string else 'any' }}{% endfor %}",
         "nullable", "no"),
        ("{% for p in f.parameters.properties.values() %}"
         "{{ p.type if p.type is string else p.type | join('|') }}{% endfor %}", "nullable", "yes"),
        ("{{ f.strict }}", "strict", "yes"),
        ("{{ f.parameters | tojson }}", "strict", "no"),
        ("{{ f | tojson(ensure_ascii=True) }}", "non_ascii", "no"),
    ],
)  # fmt: skip
def test_the_support_of_a_part_is_read_from_the_prompt(each: str, part: str, answer: str) -> None:
    assert after(each).sections.definitions[part].answer == answer


def test_the_part_that_throws_is_named_with_the_reason_and_its_line() -> None:
    report = after("\n{% for p in f.parameters.properties.values() %}{{ '' + p.type }}{% endfor %}{{ f | tojson }}")
    definitions = report.sections.definitions
    # A list of types is not a string; `anyOf`, `oneOf` and `$ref` have no type, and a tool may have no `parameters`.
    # Everything else is rendered.
    assert parts(report, "error") == {
        "nullable", "any_of", "one_of", "references", "no_parameters", "without_wrapper",
    }  # fmt: skip
    joined = (
        'the template concatenates a string and another type (TypeError: can only concatenate str (not "list") to str)'
    )
    assert (definitions["nullable"].evidence, definitions["nullable"].line) == (joined, 2)
    assert definitions["any_of"].evidence == f"`type` is undefined ({NO_TYPE})"
    assert definitions["enum"].answer == "yes"


def test_what_throws_for_one_reason_is_one_finding() -> None:
    report = after("{% for p in f.parameters.properties.values() %}{{ '' + p.type }}{% endfor %}{{ f | tojson }}")
    assert [finding.message for finding in report.findings if finding.code == "TF041"] == [
        f"The template fails on `anyOf`, `oneOf` and `$ref`: `type` is undefined ({NO_TYPE}).",
        'The template fails on a list of types (`["string", "null"]`): the template concatenates a string and another '
        "type "
        '(TypeError: can only concatenate str (not "list") to str).',
        "The template fails on a tool without the key `parameters`: `parameters` is undefined "
        f"({NO_TYPE.replace('type', 'parameters')}).",
    ]


def test_errors_with_one_cause_are_one_finding_whatever_the_engine_calls_them() -> None:
    joins = "{% for p in f.parameters.properties.values() %}{{ '' + (p.enum or '') }}"
    joins += "{{ '' + (p.get('items') or '') }}{% endfor %}"
    report = after(joins + "{{ f | tojson }}")
    errors = {part: report.sections.definitions[part].error for part in ("enum", "item_types")}
    assert len({error.engine_message for error in errors.values() if error}) == 2
    assert [finding.message for finding in report.findings if finding.code == "TF041"][:1] == [
        "The template fails on a parameter of type array, `enum` and lists: the template concatenates a string and "
        "another type "
        '(TypeError: can only concatenate str (not "dict") to str).'
    ]


def test_a_raised_message_is_quoted_in_full() -> None:
    raising = (
        "{% for p in f.parameters.properties.values() if p.enum %}{{ raise_exception('no: enum: here') }}{% endfor %}"
    )
    report = after(raising + "{{ f | tojson }}")
    messages = [finding.message for finding in report.findings if finding.code == "TF041"]
    assert "The template fails on `enum`: it raises: no: enum: here." in messages


def test_what_a_tool_may_leave_out_is_a_warning_of_its_own() -> None:
    report = after("{{ '' + f.description }}{{ f | tojson }}")
    assert codes(report) == [("TF041", "warning")]
    reported = next(finding for finding in report.findings if finding.code == "TF041")
    assert reported.message.startswith("The template fails on a tool without a description: `description` is undefined")


@pytest.mark.parametrize(
    ("each", "left_out", "fix"),
    [
        ("{{ f.parameters | tojson }}", "a tool without the key `parameters`",
         'Give every tool `parameters`; use `{"type": "object", "properties": {}}` for a tool without any; '),
        ("{{ '' + (f.parameters.properties | first) }}{{ f | tojson }}", "a tool without properties",
         "Give every tool a parameter; "),
        ("{{ '' + f.description }}{{ f | tojson }}", "a tool without a description",
         "Give every tool a `description`; "),
        ("{% for p in f.parameters.properties.values() %}{{ '' + p.description }}{% endfor %}{{ f | tojson }}",
         "a parameter without a description", "Add to every parameter a `description`; "),
        ("{% for p in f.parameters.properties.values() if p.enum %}{{ raise_exception('no') }}{% endfor %}"
         "{{ f | tojson }}", "`enum`", "Change the definition; "),
    ],
)  # fmt: skip
def test_what_to_do_is_to_give_what_was_left_out(each: str, left_out: str, fix: str) -> None:
    report = after(each)
    (reported,) = (
        found
        for found in report.findings
        if found.code == "TF041" and found.message.startswith(f"The template fails on {left_out}: ")
    )
    assert reported.fix == f"{fix}`toolfmt render` adapts the definition or describes the tools in the system prompt."


def test_several_tools_have_to_be_there_in_order_and_as_often_as_one() -> None:
    loop = "{% for tool in LIST %}{{ tool | tojson }}{% endfor %}" + PLAIN
    for listed, answer in (
        ("tools or []", "yes"),
        ("(tools or []) | reverse", "no"),
        ("(tools or [])[:1]", "no"),
        ("(tools or []) + (tools or [])[1:]", "no"),
        ("(tools or []) + (tools or [])", "yes"),
    ):
        report = inspect_template(loop.replace("LIST", listed))
        assert (listed, report.sections.definitions["several_tools"].answer) == (listed, answer)


# --- quotes and newlines


@pytest.mark.parametrize(
    ("prompt", "broken"),
    [
        ('{"description": ' + '"' + QUOTED + '"}', True),
        ("'description': '" + QUOTED + "'", True),
        ("// " + QUOTED + "\ntype f = () => any;", True),
        ("x: string, // " + QUOTED, True),
        ("// " + QUOTED.replace("\n", "\n// ") + "\n", False),
        ("<description>" + QUOTED + "</description>", False),
        ('def f():\n    """' + QUOTED + '"""', False),
        ("Use f to '" + QUOTED + "'", False),
        ('"' + QUOTED.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"', False),
        (QUOTED.replace('"', "&#34;"), True),
        (QUOTED[:10], True),
        ("nothing of it", True),
    ],
)
def test_what_a_description_came_out_as(prompt: str, broken: bool) -> None:
    assert how_quoted(prompt).broken == broken


def test_where_no_description_is_shown_none_can_break() -> None:
    definitions = after("{{ f.parameters.properties | list | join }}").sections.definitions
    assert (definitions["quoting"].answer, definitions["non_ascii"].answer) == ("yes", "yes")


def test_a_description_between_quotes_is_a_finding_and_an_escape_a_note() -> None:
    assert codes(after('"about": "{{ f.description }}"{{ (f.parameters or {}) | tojson }}')) == [("TF044", "warning")]
    assert codes(after("{{ f | tojson(ensure_ascii=True) }}")) == [("TF044", "note")]


# --- differences


def test_a_change_is_what_is_not_shared_at_either_end() -> None:
    assert change("a b c", "a x c") == TextChange("b", "x", at_end=False)
    assert change("a c", "a b c") == TextChange("", "b ", at_end=False)
    assert change("a", "a b") == TextChange("", " b", at_end=True)
    assert change("same", "same") == TextChange("", "", at_end=True)


def test_a_change_goes_to_the_ends_of_words() -> None:
    assert change('"string"', '"strict"') == TextChange("string", "strict", at_end=False)


def test_of_several_changes_the_first_is_returned() -> None:
    between = " some words that both of them have "
    assert first_change("one" + between + "two", "six" + between + "ten") == TextChange("one", "six", at_end=False)


def test_a_megabyte_is_compared_quickly() -> None:
    long = "ab " * 400_000
    assert change(long + "x " + long, long + "y " + long) == TextChange("x", "y", at_end=False)


def test_enum_values_and_defaults_that_are_not_strings_are_tested_too() -> None:
    """Harmony's TypeScript writes only string values, and joins a default next to them to text."""
    shows = "{{ p.type }}{{ p.enum | join('|') if p.type == 'string' and p.enum }}"
    joined = "{{ ' = ' + p.default if p.enum or p.oneOf else ' = ' + p.default | tojson }}"
    source = (
        "{% for tool in tools or [] %}{{ tool.function.name }}: {{ tool.function.description }}\n"
        "{% for name, p in tool.function.parameters.properties.items() %}{{ name }}: {{ p.description }} "
        + shows + "{% if p.default is defined %}" + joined + "{% endif %}{% endfor %}{% endfor %}"
        "{% for m in messages %}{{ m.content }}{% endfor %}"
    )  # fmt: skip
    report = inspect_template(source)
    assert report.sections.definitions["enum"].answer == "no"
    messages = [one.message for one in report.findings if one.code in ("TF040", "TF041")]
    (message,) = [one for one in messages if "the allowed values (`enum`) of integer parameters, " in one]
    assert "; " in message.partition("integer parameters")[2]  # a list in a list needs other separators
    values = "`enum` with a number as `default`, `enum` with null as `default` and `oneOf` with a number as `default`"
    assert any(
        one.startswith(f"The template fails on {values}: the template concatenates a string") for one in messages
    )
    shown = "{{ p.type }}{{ p.enum | join('|') if p.enum }}{{ p.const }}{{ p.get('items', '') | tojson }}"
    whole = inspect_template(source.replace(shows, shown).replace("' = ' + p.default if", "'' if"))
    assert (whole.sections.definitions["enum"].answer, whole.sections.definitions["default"].answer) == ("yes", "yes")
    alone = inspect_template(source.replace(joined, "{{ ' = ' + p.default }}")).sections.definitions["default"]
    assert alone.words == "a number as `default`, true as `default` and null as `default`"


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ("{{ '?' if name not in f.parameters.required }}", "an optional parameter gets '?'"),
        ("{{ '*' if name in f.parameters.required }}", "a required parameter gets '*'"),
        ("{{ f.parameters.required | tojson if loop.first }}", "the prompt lists the names of required parameters"),
    ],
)
def test_how_required_parameters_are_shown_is_read_from_the_prompt(mark: str, words: str) -> None:
    report = after("{% for name in f.parameters.properties %}{{ name }}" + mark + ", {% endfor %}")
    assert report.sections.definitions["required"].evidence == f"it is shown: {words}"


def test_a_constant_is_not_reported_as_a_list_of_values() -> None:
    report = after("{% for p in f.parameters.properties.values() %}{{ p.enum | join(', ') if p.enum }}{% endfor %}")
    (finding,) = (one for one in report.findings if one.code == "TF040")
    assert "the value of `const`, the properties of objects, " in finding.message


def test_a_part_that_only_list_items_have_is_reported_as_such() -> None:  # Gemma 4 prints every key of list items
    report = after("{% for p in f.parameters.properties.values() %}{{ p.type }} {{ p.get('items') }}{% endfor %}")
    definitions = report.sections.definitions
    assert definitions["pattern"].evidence == "in a parameter: it is not in the prompt; in list items: shown"
    unchanged = "changing it does not change the prompt"
    assert definitions["any_of"].evidence == f"in a parameter: {unchanged}; in list items: shown"
    (finding,) = (one for one in report.findings if one.code == "TF040")
    assert "the types in `anyOf` of parameters" in finding.message
    raising = after(
        "{% for p in f.parameters.properties.values() %}{{ p.type }}"
        "{{ raise_exception('no') if p.pattern is not defined and p.get('items',{}).pattern }}{% endfor %}"
    )
    assert raising.sections.definitions["pattern"].evidence == "it is not in the prompt"
    nowhere = after("{{ f.parameters.properties | list }}").sections.definitions
    assert nowhere["pattern"].evidence == "it is not in the prompt"


def test_an_object_without_properties_fails_with_the_keys_that_are_named() -> None:  # Gemma 4 of early 2026
    template = KEYS_AS_PARAMETERS.replace("{{ p.type }}", "{{ p.get('type') }}")
    result = inspect_template(template).sections.definitions["additional_properties"]
    assert result.words == "an object without `properties` that has `additionalProperties` or `title`"
    kept = template.replace("['type', ", "['type', 'title', ")
    result = inspect_template(kept).sections.definitions["additional_properties"]
    assert result.words == "an object without `properties` that has `additionalProperties`"


def test_a_definition_without_function_is_tried_with_its_type_as_well() -> None:  # as OpenAI's Responses API has it
    each = "{% for tool in tools or [] %}{% set f = tool.function if tool.type == 'function' else tool %}"
    report = inspect_template(each + "{{ f.name }}{{ f.description.strip() }}{{ f | tojson }}{% endfor %}" + PLAIN)
    result = report.sections.definitions["without_wrapper"]
    assert (result.answer, result.words) == (
        "error",
        "a definition without `function` around it, but with `type`, is rejected",
    )
    dropped = each.replace("else tool", "else {'name': '', 'description': ''}")
    report = inspect_template(dropped + "{{ f.name }}{{ f.description.strip() }}{{ f | tojson }}{% endfor %}" + PLAIN)
    assert report.sections.definitions["without_wrapper"].words.endswith(
        "or parts of it are; with `type` it is rejected"
    )


def test_the_line_of_a_lost_enum_is_that_of_the_condition() -> None:
    source = (
        EACH + "{{ f.name }} {{ f.description }}{% for n, p in f.parameters.properties.items() %}\n"
        "{{ n }} {{ p.description }}\n"
        "{% if p.type == 'string' and p.enum %}{{ p.enum | tojson }}{% endif %}{% endfor %}{% endfor %}" + PLAIN
    )
    assert [one.line for one in inspect_template(source).findings if one.code == "TF040"] == [3]
