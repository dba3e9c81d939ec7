"""Formats derived from small templates: the expected parameters of each engine, every error, and hostile renders.

The expectations were read off the templates by hand; nothing here is copied from the result of a derivation.
"""

from __future__ import annotations

import json
import random
import time

import pytest

from toolfmt.formats import FORMATS, Parser
from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.engines.call_headers import INDEXED, IdThenName, NameThenId
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.json_object import JsonObject, KeyedObject
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.engines.nested_tags import NestedTags
from toolfmt.formats.engines.tag_attributes import PLAIN, QUOTED, Attributes
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import COMMON_REASONING, THINK, ToolCallFormat
from toolfmt.formats.values.json_layout import WrittenObject
from toolfmt.formats.values.syntaxes import CODE, CODE_CALL, LITERAL, QUOTED_JSON, BetweenMarks
from toolfmt.formats.values.syntaxes import JSON as JSON_SYNTAX
from toolfmt.formats.values.value_writers import (
    JsonValues,
    MarkedValues,
    PythonValues,
    QuotedJsonValues,
    TextBesideType,
    TextInMarks,
)
from toolfmt.inspect.format.derive import candidates
from toolfmt.inspect.format.derive.candidates import Candidates
from toolfmt.inspect.format.derive.engine_drafts import made
from toolfmt.inspect.format.derive.frames import Frames, frames
from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.format.derive.rendered_calls import KEYS, NAMES, VALUES
from toolfmt.inspect.format.derive.text_cuts import chunks, common_end, common_start, is_marker, markers
from toolfmt.inspect.format.derive.value_paths import decode, enclosing, place_of
from toolfmt.inspect.probe.capabilities import find_shape
from toolfmt.inspect.probe.conversations import PLACEHOLDERS
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.messages.message import Message
from toolfmt.templates import ChatTemplate

PAIRS = "{% for k, v in f.arguments.items() %}@{% endfor %}"
TEXT = "{{ v if v is string else v | tojson }}"
JSON = "{{ f.arguments | tojson }}"
PYTHON = "{{ v | tojson if v is string else v }}"
EITHER = "{{ v | tojson if v is string or v is boolean else v }}"
COMMA = "{{ '' if loop.last else ', ' }}"


def template(call: str, before: str = "", between: str = "", after: str = "", words: str = "", header: str = "") -> str:
    """A template that writes each call as `call` specifies, with texts before the first, between two and after the
    last; `words` comes before a response in text, `header` requests a response.
    """
    generation_prompt = header or "<|im_start|>assistant\n"
    return (
        "{% for m in messages %}{% if m.role == 'assistant' %}"
        + generation_prompt
        + "{% else %}<|im_start|>{{ m.role }}\n{% endif %}"
        + "{% if m.reasoning_content %}<pondering>{{ m.reasoning_content }}</pondering>{% endif %}"
        + "{% if m.content %}"
        + words
        + "{{ m.content }}{% endif %}{% if m.tool_calls %}"
        + before
        + "{% for c in m.tool_calls %}{% set f = c.function %}"
        + call
        + "{% if not loop.last %}"
        + _kept(between)
        + "{% endif %}{% endfor %}"
        + _kept(after)
        + "{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}"
        + generation_prompt
        + "{% endif %}"
    )


def _kept(text: str) -> str:
    """The text, with line breaks that a tag of the template would remove."""
    return text.replace("\n", "{{ '\\n' }}")


def pairs(one: str) -> str:
    return PAIRS.replace("@", one)


def derivation(source: str) -> Candidates:
    renders = Renders(ChatTemplate(source), PLACEHOLDERS)
    shape, _ = find_shape(renders)
    assert shape is not None
    return Candidates(renders, shape)


def first(source: str) -> ToolCallFormat:
    """The likeliest format."""
    return next(derivation(source).candidates()).format


def why_not(source: str) -> str:
    """Why nothing is derived: the most informative reason."""
    derived = derivation(source)
    assert list(derived.candidates()) == []
    return derived.rejections[-1][1]


ENGINES: dict[str, tuple[str, Engine]] = {
    "an object in a frame of its own": (
        template('<act>\n{"name": "{{ f.name }}", "arguments": ' + JSON + "}\n</act>", between="\n"),
        JsonObject(opener="<act>", closer="</act>", between="\n", separator="\n", written=WrittenObject()),
    ),
    "a list with keys of its own, and ids": (
        template('{"tool": "{{ f.name }}", "input": ' + JSON + ', "ref": "{{ c.id }}"}', "<ops>[", ", ", "]</ops>"),
        JsonObject(
            opener="<ops>",
            closer="</ops>",
            enclosing=("[", "]"),
            separator=", ",
            name_key="tool",
            arguments_key="input",
            written=WrittenObject(
                ('{"tool": ', "name", ', "input": ', "arguments", ', "ref": ', "id", "}"), id="call{number:05d}"
            ),
        ),
    ),
    "a list inside of an object": (
        template(
            '{"do": "{{ f.name }}", "using": ' + JSON + "}", '<act>\n{"n": [1], "all": {"steps": [', ", ", "]}}\n</act>"
        ),
        JsonObject(
            opener="<act>",
            closer="</act>",
            enclosing=('\n{"n": [1], "all": {"steps": [', "]}}\n"),
            separator=", ",
            name_key="do",
            arguments_key="using",
            written=WrittenObject(('{"do": ', "name", ', "using": ', "arguments", "}")),
        ),
    ),
    "a list inside of an object, the name a key": (
        template('{"{{ f.name }}": ' + JSON + "}", '<act>{"steps": [', ", ", "]}</act>"),
        KeyedObject(
            opener="<act>",
            closer="</act>",
            enclosing=('{"steps": [', "]}"),
            separator=", ",
            written=WrittenObject(("{", "name", ": ", "arguments", "}")),
        ),
    ),
    "objects in one frame, the name a key": (
        template('{"{{ f.name }}": ' + JSON + "}", "<ops>", ";", "</ops>"),
        KeyedObject(
            opener="<ops>",
            closer="</ops>",
            enclosing=("", ""),
            separator=";",
            written=WrittenObject(("{", "name", ": ", "arguments", "}")),
        ),
    ),
    "OpenAI's wrapping, without a frame": (
        template('{"type": "function", "function": {"name": "{{ f.name }}", "arguments": ' + JSON + "}}", between="\n"),
        JsonObject(
            unframed_openers=("{",),
            separator="\n",
            wrapper="function",
            written=WrittenObject(
                ('{"type": "function", "function": {"name": ', "name", ', "arguments": ', "arguments", "}}")
            ),
        ),
    ),
    "a name, then JSON": (
        template("<|use|>{{ f.name }}<|with|>" + JSON + "<|/use|>"),
        NamedJson(call_opener="<|use|>", separator="<|with|>", call_closer="<|/use|>"),
    ),
    "a name, then JSON in a fence, in a frame of all calls": (
        template("<c>{{ f.name }}<args>```json\n" + JSON + "\n```</c>", "<cs>", "", "</cs>"),
        NamedJson(
            opener="<cs>",
            closer="</cs>",
            call_opener="<c>",
            separator="<args>",
            fence=("```json\n", "\n```"),
            call_closer="</c>",
        ),
    ),
    "an id after the name": (
        template("[TOOL]{{ f.name }}[ID]{{ c.id }}[ARGS]" + JSON + "[/TOOL]"),
        NamedJson(
            call_opener="[TOOL]",
            separator="[ARGS]",
            call_closer="[/TOOL]",
            identity=NameThenId("[ID]", "call{number:05d}"),
        ),
    ),
    "an id before the name": (
        template("<|id|>{{ c.id }}<|name|>{{ f.name }}<|args|>" + JSON + "<|end|>"),
        NamedJson(
            call_opener="<|id|>",
            separator="<|args|>",
            call_closer="<|end|>",
            identity=IdThenName("<|name|>", "call{number:05d}"),
        ),
    ),
    "an id made of the name": (
        template("<|call|>functions.{{ f.name }}:{{ loop.index0 }}<|args|>" + JSON + "<|end|>"),
        NamedJson(call_opener="<|call|>", separator="<|args|>", call_closer="<|end|>", identity=INDEXED),
    ),
    "keys and values between markers": (
        template("<|act|>{{ f.name }}" + pairs("<|k|>{{ k }}<|v|>" + TEXT + "<|/v|>") + "<|/act|>", between="\n"),
        Tagged(
            opener="<|act|>",
            closer="<|/act|>",
            key_opener="<|k|>",
            key_closer="<|v|>",
            value_closer="<|/v|>",
            between="",
            between_calls="\n",
        ),
    ),
    "tags in lines, in a frame": (
        template(
            "<run={{ f.name }}>\n" + pairs("<set={{ k }}>\n" + TEXT + "\n</set>\n") + "</run>",
            "<all>\n",
            "\n",
            "\n</all>",
        ),
        Tagged(
            opener="<all>",
            closer="</all>",
            name_opener="<run=",
            name_closer=">",
            call_closer="</run>",
            key_opener="<set=",
            key_closer=">",
            value_closer="</set>",
            value_newline="\n",
            enclosing=("\n", "\n"),
        ),
    ),
    "attributes, one with the type, one that counts": (
        template(
            '<use name="{{ f.name }}" at="{{ loop.index }}">'
            + pairs("<p name=\"{{ k }}\" type=\"{{ 'str' if v is string else 'json' }}\">" + TEXT + "</p>")
            + "</use>",
            between="\n",
        ),
        Tagged(
            name_opener='<use name="',
            name_closer=">",
            name_header=Attributes(index_attribute="at"),
            call_closer="</use>",
            key_opener='<p name="',
            key_closer=">",
            key_header=Attributes(type_attribute="type", string="str", other_types=("json",)),
            value_closer="</p>",
            between="",
            between_calls="\n",
            write_value=TextBesideType(),
        ),
    ),
    "values that could be tags in CDATA": (
        template(
            '<do what="{{ f.name }}">'
            + pairs(
                '<with key="{{ k }}">{% if v is string and "<" in v %}<![CDATA[{{ v }}]]>{% else %}'
                + TEXT
                + "{% endif %}</with>"
            )
            + "</do>",
            between="\n",
        ),
        Tagged(
            name_opener='<do what="',
            name_closer=">",
            name_header=QUOTED,
            call_closer="</do>",
            key_opener='<with key="',
            key_closer=">",
            key_header=QUOTED,
            value_closer="</with>",
            cdata=("<![CDATA[", "]]>"),
            between="",
            between_calls="\n",
            write_value=TextInMarks("<![CDATA[", "]]>"),
        ),
    ),
    "keys as tags": (
        template(
            '~<do name="{{ f.name }}">' + pairs("~<{{ k }}>" + TEXT + "~</{{ k }}>") + "~</do>\n",
            "~<all>\n",
            "",
            "~</all>",
        ),
        NestedTags(
            sign="~", opener="~<all>", closer="~</all>", call_opener='<do name="', name_closer='">', call_closer="</do>"
        ),
    ),
    "calls of Python": (
        template("{{ f.name }}(" + pairs("{{ k }}=" + PYTHON + COMMA) + ")", "<code>[", ", ", "]</code>"),
        CallExpression(
            opener="<code>", closer="</code>", enclosing=("[", "]"), notation=CODE_CALL, written=PythonValues()
        ),
    ),
    "calls of Python, values of JSON": (
        template("{{ f.name }}(" + pairs("{{ k }}={{ v | tojson }}" + COMMA) + ")", "<code>[", ", ", "]</code>"),
        CallExpression(
            opener="<code>", closer="</code>", enclosing=("[", "]"), notation=JSON_SYNTAX, written=JsonValues()
        ),
    ),
    "calls of Python, values in words of JSON and of Python": (
        template("{{ f.name }}(" + pairs("{{ k }}=" + EITHER + COMMA) + ")", "<code>[", ", ", "]</code>"),
        CallExpression(opener="<code>", closer="</code>", enclosing=("[", "]"), notation=LITERAL, written=JsonValues()),
    ),
    "strings between marks, keys sorted": (
        template(
            "<|act>call:{{ f.name }}{{ '{' }}{% for k, v in f.arguments | dictsort %}{{ k }}:"
            + "{% if v is string %}<q>{{ v }}<q>{% else %}{{ v | tojson }}{% endif %}{{ '' if loop.last else ',' }}"
            + "{% endfor %}{{ '}' }}<act|>"
        ),
        CallExpression(
            opener="<|act>",
            closer="<act|>",
            lead="call:",
            brackets=("{", "}"),
            assign=":",
            separator=",",
            key_order="alphabetical",
            notation=BetweenMarks("<q>"),
            written=MarkedValues("<q>", "None"),
        ),
    ),
    "an s-expression": (
        template("({{ f.name }}" + pairs(" :{{ k }} {{ v | tojson }}") + ")", "<|calls|>", " ", "<|/calls|>"),
        CallExpression(
            opener="<|calls|>",
            closer="<|/calls|>",
            lead="(",
            brackets=(" ", ")"),
            assign=" ",
            separator=" ",
            key_lead=":",
            enclosing=("", ""),
            between=" ",
            notation=LITERAL,
            written=JsonValues(),
        ),
    ),
    "an s-expression of Python's values": (
        template("({{ f.name }}" + pairs(" :{{ k }} " + PYTHON) + ")", "<|calls|>", " ", "<|/calls|>"),
        CallExpression(
            opener="<|calls|>",
            closer="<|/calls|>",
            lead="(",
            brackets=(" ", ")"),
            assign=" ",
            separator=" ",
            key_lead=":",
            enclosing=("", ""),
            between=" ",
            notation=CODE,
            written=PythonValues(),
        ),
    ),
    "keys and end markers of values in brackets of another script": (
        template("⟦调 {{ f.name }}⟧" + pairs("⟨{{ k }}⟩" + TEXT + "⟨∕⟩") + "⟦∎⟧"),
        Tagged(
            name_opener="⟦调 ",
            name_closer="⟧",
            call_closer="⟦∎⟧",
            key_opener="⟨",
            key_closer="⟩",
            value_closer="⟨∕⟩",
            between="",
            between_calls="",
        ),
    ),
    "double angle brackets around lines": (
        template("<<call {{ f.name }}>>\n" + pairs("{{ k }}={{ v | tojson }}\n") + "<<end>>", between="\n"),
        CallExpression(
            opener="<<call",
            brackets=(">>\n", "<<end>>"),
            separator="\n",
            notation=LITERAL,
            written=JsonValues(),
        ),
    ),
    "double square brackets around lines": (
        template("[[call {{ f.name }}]]\n" + pairs("{{ k }}={{ v | tojson }}\n") + "[[end]]", between="\n"),
        CallExpression(
            opener="[[call",
            brackets=("]]\n", "[[end]]"),
            separator="\n",
            notation=LITERAL,
            written=JsonValues(),
        ),
    ),
    "double angle brackets around every part": (
        template("<<call {{ f.name }}>>\n" + pairs("<<arg {{ k }}>>" + TEXT + "<</arg>>\n") + "<<end>>", between="\n"),
        Tagged(
            name_opener="<<call ",
            name_closer=">>",
            call_closer="<<end>>",
            key_opener="<<arg ",
            key_closer=">>",
            value_closer="<</arg>>",
            between="\n",
            between_calls="\n",
        ),
    ),
    "double brackets around tags, in two frames": (
        template("<<call>>[[do {{ f.name }}]]" + pairs("<k>{{ k }}</k><v>" + TEXT + "</v>") + "[[done]]<<end>>"),
        Tagged(
            opener="<<call>>",
            closer="<<end>>",
            name_opener="[[do ",
            name_closer="]]",
            call_closer="[[done]]",
            key_opener="<k>",
            key_closer="</k>",
            value_opener="<v>",
            value_closer="</v>",
            between="",
            between_calls="",
        ),
    ),
    "every argument in brackets of its own": (
        template("<|act|>(do {{ f.name }}" + pairs(" ({{ k }} {{ v | tojson }})") + ")<|/act|>"),
        CallExpression(
            opener="<|act|>",
            closer="<|/act|>",
            lead="(do ",
            brackets=(" ", ")"),
            assign=" ",
            separator=" ",
            key_lead="(",
            pair_closer=")",
            notation=LITERAL,
            written=JsonValues(),
        ),
    ),
    "a word before the arguments, and every argument in brackets": (
        template("<|act|>(do {{ f.name }} with" + pairs(" ({{ k }} {{ v | tojson }})") + ")<|/act|>"),
        CallExpression(
            opener="<|act|>",
            closer="<|/act|>",
            lead="(do ",
            brackets=(" with", ")"),
            assign=" ",
            separator="",
            key_lead=" (",
            pair_closer=")",
            notation=LITERAL,
            written=JsonValues(),
        ),
    ),
    "a character after every argument": (
        template("<|act|>{{ f.name }}{{ '{' }}" + pairs("{{ k }}={{ v | tojson }};") + "}<|/act|>"),
        CallExpression(
            opener="<|act|>",
            closer="<|/act|>",
            brackets=("{", "}"),
            separator="",
            pair_closer=";",
            notation=LITERAL,
            written=JsonValues(),
        ),
    ),
    "a tag that closes itself": (
        template(
            '<run tool="{{ f.name }}"' + pairs(" {{ k }}={{ (v if v is string else v | tojson) | tojson }}") + "/>",
            between="\n",
        ),
        CallExpression(
            opener='<run tool="',
            brackets=('" ', "/>"),
            separator=" ",
            notation=QUOTED_JSON,
            written=QuotedJsonValues(),
        ),
    ),
}


@pytest.mark.parametrize("what", ENGINES)
def test_an_engine_is_read_off_the_calls_of_a_template(what: str) -> None:
    source, engine = ENGINES[what]
    assert engine == first(source).engine


@pytest.mark.parametrize(
    ("written", "given", "strict"),
    [
        ("{{ v | tojson }}", r'x="a\/b \u00e9 \ud83d\ude00 \"q\"", y=[true, null]', True),
        ("{{ v | tojson }}", r'x="a\/b é \uD83D\uDE00 \"q\"", y=[True, None]', False),
        (EITHER, r'x="a\/b \u00e9 \ud83d\ude00 \"q\"", y=[true, None]', True),
        (EITHER, """x='a/b \\xe9 😀 "q"', y=[True, null]""", True),
        (PYTHON, r'x="a/b \xe9 \U0001F600 \"q\"", y=[True, None]', True),
        (PYTHON, """x='a/b é 😀 "q"', y=[True, None]""", True),
    ],
)
def test_a_value_of_code_is_read_as_the_template_shows_them(written: str, given: str, strict: bool) -> None:
    source = template("{{ f.name }}(" + pairs("{{ k }}=" + written + COMMA) + ")", "<code>[", ", ", "]</code>")
    format = first(source)
    for how in (False, True):
        parser = Parser(format, strict=how)
        message = Message.from_events([*parser.feed(f"<code>[f({given})]</code>"), *parser.finish()])
        read = [json.loads(call.arguments) for call in message.tool_calls]
        assert read == ([{"x": 'a/b é 😀 "q"', "y": [True, None]}] if strict or not how else [])


REJECTED = {
    "values without quotes": (
        template("[{{ f.name }}(" + pairs("{{ k }}=" + TEXT + COMMA) + ")]"),
        "values have no quotes or end markers: a comma or a line break in one looks like the next argument",
    ),
    "lines of keys and values": (
        template("<do>\nname: {{ f.name }}\n" + pairs("{{ k }}: " + TEXT + "\n") + "</do>"),
        "values have no quotes or end markers: a comma or a line break in one looks like the next argument",
    ),
    "broken JSON": (
        template('<act>{"name": "{{ f.name }}, "arguments": ' + JSON + '"}</act>'),
        'a marker would be a piece of broken JSON: <act>{"name": "',
    ),
    "a plain word": (
        template("Use: {{ f.name }}\n" + JSON + "\n"),
        "a call would start with plain words: Use:",
    ),
    "one sign": (
        template("⟦{{ f.name }}" + pairs("〈{{ k }}⇒" + TEXT + "〉") + "⟧"),
        "a call would start with one character that ordinary responses contain: ⟦",
    ),
    "a marker of answers in words": (
        template("<say>{{ f.name }}<with>" + JSON + "</say>", words="<say>"),
        "a call would start with text that ordinary responses contain: <say>",
    ),
    "keys as tags without a sign": (
        template('<do name="{{ f.name }}">' + pairs("<{{ k }}>" + TEXT + "</{{ k }}>") + "</do>"),
        "the tags of arguments contain only their names, so a value with a tag looks like the next argument",
    ),
    "values between marks, and a call that one sign opens": (
        template("⟦{{ f.name }}⟧" + pairs("⟨{{ k }}⟩" + TEXT + "⟨∕⟩") + "⟦∎⟧"),
        "a call would start with one character that ordinary responses contain: ⟦",
    ),
    "keys with a prefix as tags": (
        template("<|do {{ f.name }}|>" + pairs("<arg:{{ k }}>" + TEXT + "</arg:{{ k }}>") + "<|/do|>"),
        "what closes a value repeats its key, and a derived format has one end marker for all values",
    ),
    "arguments in lines, and nothing after them": (
        template("- do: {{ f.name }}\n" + pairs("    {{ k }}: {{ v | tojson }}\n"), "<|steps|>\n", "", "<|/steps|>"),
        "nothing closes the arguments of a call: they end only where the next call begins or all calls end",
    ),
    "arguments in lines, and a word after them": (
        template("- do: {{ f.name }}\n" + pairs("  {{ k }}: {{ v | tojson }}\n") + "done\n", "<|a|>\n", "", "<|/a|>"),
        "a plain word closes the arguments of a call, and a key may be the same: done",
    ),
    "a sign between arguments that closes them, too": (
        template("<c>{{ f.name }}(" + pairs("{{ k }}={{ v | tojson }})") + ")</c>").replace(
            "f.arguments.items() %}", "f.arguments.items() %}{{ '' if loop.first else '(' }}"
        ),
        "the text between two arguments, ')(', cannot be distinguished from the end of the arguments",
    ),
    "a second call without its start marker": (
        template(
            '{"name": "{{ f.name }}", "arguments": ' + JSON + "}</act>", before="<act>"
        ),
        "the second of two calls is closed and has not been opened, unlike the first",
    ),
    "arguments with nothing between": (
        template("<c>{{ f.name }}(" + pairs("{{ k }}={{ v | tojson }}") + ")</c>"),
        "there is nothing between two arguments",
    ),
    "a list inside of an object without a frame": (
        template('{"name": "{{ f.name }}", "arguments": ' + JSON + "}", '{"calls": [', ", ", "]}"),
        "the calls lie in a list inside of another JSON value, and no marker precedes that",
    ),
    "a call that is a list": (
        template('["{{ f.name }}", ' + JSON + "]", '<act>{"calls": [', ", ", "]}</act>"),
        "name and arguments do not lie side by side in the call's JSON",
    ),
    "an id after the arguments": (
        template("<c>{{ f.name }}<a>" + JSON + "<id>{{ c.id }}</c>"),
        "an id follows the arguments of a call",
    ),
    "an id made of the name alone": (
        template("<|call|>{{ f.name }}:{{ loop.index0 }}<|args|>" + JSON + "<|end|>"),
        "an id contains the name of a call, and 'functions.' does not precede it",
    ),
    "the name written twice": (
        template("<{{ f.name }}>" + pairs("<k>{{ k }}</k><v>" + TEXT + "</v>") + "</{{ f.name }}>"),
        "it contains the name of a call more than once",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REJECTED)
def test_what_cannot_be_distinguished_is_rejected_with_a_reason(what: str) -> None:
    source, why = REJECTED[what]
    assert why == why_not(source)


def test_an_engine_error_is_reported_without_the_names_of_its_parameters() -> None:
    expected = "what closes a value, '<k', cannot be distinguished from the text before a key"
    with pytest.raises(NotDerivable) as error:
        made(Tagged, name_opener="<c>", call_closer="</c>", key_opener="<k>", key_closer="</k>", value_closer="<k")
    assert str(error.value) == expected
    with pytest.raises(NotDerivable, match=r"^keys and values need markers that are more than whitespace$"):
        made(Tagged, name_opener="<c>", call_closer="</c>", key_opener=" ", key_closer="</k>", value_closer="<k")


def test_a_second_call_in_another_form_is_rejected() -> None:
    other = '{% if loop.first %}<act>{"name": "{{ f.name }}", "arguments": ' + JSON + "}</act>{% else %}"
    source = template(other + "<act>{{ f.name }} does " + JSON + "</act>{% endif %}")
    derived = derivation(source)
    assert list(derived.candidates()) == []
    assert ("JSON objects", "the second of two calls is written differently than the first") in derived.rejections


def test_a_value_that_is_not_written_is_rejected() -> None:
    source = template("<act>{{ f.name }}{% for k, v in f.arguments.items() %}<k>{{ k }}</k>{% endfor %}</act>")
    with pytest.raises(NotDerivable, match="the value of a call is not in the output"):
        Candidates(Renders(ChatTemplate(source), PLACEHOLDERS), TurnShape())


def test_a_prompt_that_is_too_long_is_rejected() -> None:
    source = "{{ 'x' * 200001 }}" + template(*_ACT)
    with pytest.raises(NotDerivable, match="longer than 200,000 characters"):
        Candidates(Renders(ChatTemplate(source), PLACEHOLDERS), TurnShape())


_ACT = ("<act>{{ f.name }}<with>" + JSON + "</act>",)


_TEXT_WITH_CALL = "{{ '<@>' ~ m.content ~ '</@>' if m.tool_calls else m.content }}"


def test_a_format_knows_its_own_reasoning_first_and_the_common_pairs() -> None:
    assert (("<pondering>", "</pondering>"), *COMMON_REASONING) == first(template(*_ACT)).reasoning_read


def test_a_block_that_the_prompt_opens_is_reasoning_and_no_header() -> None:
    generation_prompt = "<reply-here>\n<think>"
    source = template(*_ACT, header=generation_prompt).replace("<pondering>", "").replace("</pondering>", "</think>")
    format = first(source)
    assert format.reasoning == (THINK,)
    assert format.reasoning_read == COMMON_REASONING
    assert format.headers == (r"<reply\-here>",)


def test_markers_between_a_text_and_the_call_after_it_are_ignored() -> None:
    source = template(*_ACT, before="{% if m.content %}<|im_end|>\n<|im_start|>assistant\n{% endif %}")
    assert first(source).ignored_markers == ("<|im_end|>", "<|im_start|>assistant")


def test_markers_around_the_text_before_a_call_are_ignored() -> None:
    source = template(*_ACT).replace(
        "{{ m.content }}", "{{ '<aside>' ~ m.content ~ '</aside>' if m.tool_calls else m.content }}"
    )
    assert first(source).ignored_markers == ("<aside>", "</aside>")


def test_a_plan_before_a_call_is_reasoning() -> None:
    source = template(*_ACT).replace(
        "{{ m.content }}", "{{ '<plan>' ~ m.content ~ '</plan>' if m.tool_calls else m.content }}"
    )
    assert first(source).reasoning[0] == ("<plan>", "</plan>")


def test_markers_before_a_text_response_are_ignored_there() -> None:
    assert first(template(*_ACT, words="Reply> ")).ignored_at_start == ("Reply> ",)


def test_a_tag_around_an_answer_in_words_is_the_part_for_the_user() -> None:
    source = template(*_ACT, words="<say>").replace(
        "{{ m.content }}", "{{ m.content }}{% if m.role == 'assistant' %}</say>{% endif %}"
    )
    source = source.replace("<say>{{", "{% if m.role == 'assistant' %}<say>{% endif %}{{")
    format = first(source)
    assert format.content_markers == (("<say>", "</say>"),)
    assert format.ignored_at_start == ()


def test_a_header_that_its_shape_does_not_show_is_kept() -> None:
    assert first(template(*_ACT, header="<reply-here>")).headers == (r"<reply\-here>",)
    assert first(template(*_ACT)).headers == ()


def test_a_template_that_writes_one_call_in_a_turn_is_recognized() -> None:
    one = template(*_ACT).replace("for c in m.tool_calls", "for c in m.tool_calls[:1]")
    assert not derivation(one).parallel
    assert derivation(template(*_ACT)).parallel
    assert NamedJson(call_opener="<act>", separator="<with>", call_closer="</act>") == first(one).engine


def test_the_end_of_a_turn_closes_no_call() -> None:
    source = template('{"name": "{{ f.name }}", "arguments": ' + JSON + "}", "<ops>[", ", ", "]<|im_end|>\n")
    format = first(source)
    assert format.closers == ()
    assert format.ignored_markers == ("<|im_end|>",)


def test_a_constant_attribute_belongs_to_the_tag_of_the_name() -> None:
    source = template('<use name="{{ f.name }}" kind="tool">' + pairs("<k>{{ k }}</k><v>" + TEXT + "</v>") + "</use>")
    engine = first(source).engine
    assert isinstance(engine, Tagged)
    assert (engine.name_header, engine.name_closer) == (PLAIN, '" kind="tool">')


def test_candidates_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = ENGINES["calls of Python"]
    assert len(list(derivation(source).candidates())) == 4
    monkeypatch.setattr(candidates, "_MOST", 2)
    assert len(list(derivation(source).candidates())) == 2


def test_no_marker_holds_what_the_conversation_holds() -> None:
    source = template("<act {{ messages[0].content }}>{{ f.name }}<with>" + JSON + "</act>")
    derived = derivation(source)
    assert list(derived.candidates()) == []
    assert derived.rejections[-1][1] == "a marker would hold a part of the conversation: Uq1question"


# --- the tools of the derivation


def test_text_in_brackets_of_any_script_is_a_marker() -> None:
    assert markers("⟨∕⟩⟦∎⟧a⦗x y⦘〔b〕＜c") == ["⟨∕⟩", "⟦∎⟧", "a", "⦗x y⦘", "〔b〕", "＜c"]
    assert chunks("❮调 x❯to=⧼X⧽") == ["❮调 x❯", "to=", "⧼X⧽"]
    assert is_marker("⟨∕⟩") and is_marker("«x»") and not is_marker("∕") and not is_marker("‚x")
    assert common_start("⟨∕a⟩", "⟨∕b⟩") == ""


def test_texts_are_cut_into_markers() -> None:
    assert markers("<a b> word[X]⟦y⟧") == ["<a b>", "word", "[X]", "⟦y⟧"]
    assert chunks("<a>to=[X]") == ["<a>", "to=", "[X]"]
    assert markers("<<call x>><<end>>[[end]][[call") == ["<<call x>>", "<<end>>", "[[end]]", "[[call"]
    assert markers("<<call<a>]]>>") == ["<<call", "<a>", "]]", ">>"]
    assert chunks("<<call>> [[do x]]<a b>") == ["<<call>>", "[[do x]]", "<a b>"]


def test_what_two_texts_share_never_ends_within_a_marker_or_a_word() -> None:
    assert common_start("</a></b>", "</a></c>") == "</a>"
    assert common_start("</act>", "</arg>") == ""
    assert common_end("x<go>", "y<go>") == "<go>"
    assert common_end("<all calls>", "</one calls>") == ""
    assert common_end("  ", "  ") == ""


def test_frames_are_what_before_between_and_after_share() -> None:
    assert Frames("<all>", "</all>", "<one>", "</one>", ",") == frames("<all><one>", "</one></all>", "</one>,<one>")
    assert Frames("", "", "<one>", "</one>", "") == frames("<one>", "</one>", "</one><one>")
    assert Frames(each="<one>", each_close="</one>") == frames("<one>", "</one>", None)


def test_a_value_is_found_in_a_text_and_the_way_to_its_parts() -> None:
    text = 'say {x} and [{"name": "f", "arguments": {"k": "v"}}] more'
    found = enclosing(text, ("f", "v"))
    assert found is not None
    assert text[found.begin : found.end] == '[{"name": "f", "arguments": {"k": "v"}}]'
    place = place_of(found.value, {"k": "v"})
    assert place is not None
    assert place.path == (0, "arguments")
    python = decode("{'a': None}", 0)
    assert python is not None
    assert python.value == {"a": None}
    assert decode("{a: 1}", 0) is None


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "{" * 5_000 + "x", '{"a":' * 20_000, "{'" * 30_000],
    ids=["lists", "braces", "objects", "quotes"],
)
def test_deep_or_broken_values_are_none_and_soon(text: str) -> None:
    begin = time.process_time()
    assert enclosing(text + NAMES[0], (NAMES[0], VALUES[0])) is None
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_the_common_reasoning_pairs_are_those_of_the_known_formats(format: ToolCallFormat) -> None:
    """Closing tags of a family are common knowledge; headers of messages and words of prose are not."""
    own = {
        pair
        for pair in format.reasoning
        if pair[0].startswith(("to=", "/think", "reasoning", "Here", "<|channel", "<|content", "<|open"))
        or pair[1] == "<|end|>"
        or "plamo" in pair[0]
    }
    assert set(format.reasoning) - own - set(COMMON_REASONING) == set(), (
        f"{format.name}: add the reasoning block to COMMON_REASONING in toolfmt/formats/format.py, so that it is read "
        "of unknown models too; if it is a header or plain words, to those that this test leaves out"
    )


# --- templates that mean harm


class _Damaged(Renders):
    """Renders whose ends are damaged, each in the same way."""

    seed = 0

    def _render(self, *args: object, **kwargs: object) -> object:  # type: ignore[override]  # damages its input
        made = super()._render(*args, **kwargs)  # type: ignore[arg-type]  # forwarded
        return _damaged(made, random.Random(self.seed)) if isinstance(made, str) else made


_DELIMITERS = (
    "<",
    ">",
    "{",
    "}",
    '"',
    "'",
    "[",
    "]",
    "\n",
    " ",
    "```",
    "</",
    "=",
    "(",
    ",",
    "\\",
    "⟦",
    "<think>",
    "\0",
    "|",
)


def _damaged(text: str, chance: random.Random) -> str:
    for _ in range(chance.randrange(1, 5)):
        place = chance.randrange(max(0, len(text) - 300), len(text) + 1)
        delimiter = chance.choice(_DELIMITERS)
        text = chance.choice(
            (
                text.replace(delimiter, chance.choice(_DELIMITERS)),
                text[:place] + delimiter * chance.choice((1, 60)) + text[place:],
                text[:place] + text[place + chance.randrange(20) :],
                text.replace(chance.choice((*NAMES, *KEYS, *VALUES)), chance.choice(("", "x", delimiter))),
                text + text[-200:],
            )
        )
    return text


@pytest.mark.sample(1)
@pytest.mark.parametrize("what", ENGINES)
def test_whatever_is_rendered_ends_in_candidates_or_rejections(what: str) -> None:
    source, _ = ENGINES[what]
    shape, _ = find_shape(Renders(ChatTemplate(source), PLACEHOLDERS))
    assert shape is not None
    for seed in range(25):
        renders = _Damaged(ChatTemplate(source), PLACEHOLDERS)
        renders.seed = seed
        try:
            found = list(Candidates(renders, shape).candidates())
        except NotDerivable:
            continue
        assert len(found) <= 24
        for candidate in found:
            assert candidate.format.engine == candidate.format.engine
            hash(candidate.format.engine)


_WHITESPACE = "{{ ' ' * 6000 }}"
WITH_WHITESPACE = {
    "after a key": template(
        "<act={{ f.name }}>" + pairs("<k={{ k }}>" + _WHITESPACE + "<v>" + TEXT + "</v>") + "</act>"
    ),
    "in a list": template(
        '{"name": "{{ f.name }}", "arguments": ' + JSON + "}", "<ops>[", "," + _WHITESPACE, _WHITESPACE + "]</ops>"
    ),
    "before code": template(
        "{{ f.name }}(" + pairs("{{ k }}={{ v | tojson }}" + COMMA) + ")", "<c>" + _WHITESPACE + "["
    ),
    "after a name": template("<act>{{ f.name }}" + _WHITESPACE + JSON + "</act>"),
    "of signs": template("{{ '<{[' * 1200 }}<act>{{ f.name }}<with>" + JSON + "</act>"),
}


@pytest.mark.parametrize("where", WITH_WHITESPACE)
def test_long_stretches_cost_no_time(where: str) -> None:
    shape = TurnShape()
    begin = time.process_time()
    list(Candidates(Renders(ChatTemplate(WITH_WHITESPACE[where]), PLACEHOLDERS), shape).candidates())
    assert time.process_time() - begin < 0.4
