"""What leads to Python's internals is found without running the template, however its name is put together."""

from __future__ import annotations

import itertools
from time import process_time

import pytest

from toolfmt.templates.analysis.internals import internals
from toolfmt.templates.engine.environment import environment

COMPUTED = "a name that is computed when the template runs"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("{{ ''.__class__.__mro__ }}", ["__class__", "__mro__"]),
        ("{{ x['__class__'] }}", ["__class__"]),
        ("{{ '' | attr('__cl' ~ 'ass__') }}", ["__class__"]),
        ("{{ x['__cl' + 'ass__'] }}", ["__class__"]),
        ("{{ x | attr(['_' * 2, 'class', '_' * 2] | join) }}", ["__class__"]),
        ("{{ x | attr('__'.join(['', 'class', ''])) }}", ["__class__"]),
        ("{{ x | attr('%sclass%s' % ('__', '__')) }}", ["__class__"]),
        ("{{ x | attr('{}class{}'.format('__', '__')) }}", ["__class__"]),
        ("{{ x | attr('__ssalc__'[::-1]) }}", ["__class__"]),
        ("{{ x | attr('__CLASS__' | lower) }}", ["__class__"]),
        ("{{ x | attr('##class##' | replace('#', '_')) }}", ["__class__"]),
        ("{{ '\\x5f\\x5fclass\\x5f\\x5f' }}", ["__class__"]),
        ("{% set a = '__cl' %}{% set b = 'ass__' %}{{ x[a ~ b] }}", ["__class__"]),
        ("{% set ns = namespace(a='__globals__') %}{{ x[ns.a] }}", ["__globals__"]),
        ("{{ [x] | map(attribute='__class__') | list }}", ["__class__"]),
        ("{{ x | attr('items') }}", ["`attr`"]),
        ("{{ x | attr(messages[0].content) }}", [f"`attr` with {COMPUTED}"]),
        ("{{ [x] | map(attribute=messages[0].content) | list }}", [f"`map` with {COMPUTED}"]),
        ("{% if false %}{{ lipsum.__globals__.os }}{% endif %}", ["__globals__", "lipsum"]),
        ("{{ cycler.__init__ }}", ["__init__", "cycler"]),
        ("{% set j = joiner %}", ["joiner"]),
        ("{{ self._TemplateReference__context }}", ["_TemplateReference__context"]),
        ("{% if false %}{% include 'x' %}{% endif %}", ["{% include %}"]),
        ("{% import 'x' as y %}{% from 'x' import z %}", ["{% from %}", "{% import %}"]),
        ("{{ cycler(1)[dict(__init__=1) | first] }}", ["__init__", "cycler"]),
        ("{{ self['_TemplateReference__context'] }}", ["_TemplateReference__context"]),
        ("{% macro m() %}{{ caller.__code__ }}{% endmacro %}", ["__code__"]),
        ("{% if false %}{{ os.system('id') }}{{ x.popen('id') }}{% endif %}", ["popen()", "system()"]),
        ("{{ eval('1') }}{{ getattr(x, 'y') }}", ["eval()", "getattr()"]),
        ("{% set x = 'sub' ~ 'process' %}{% set y = ['po', 'pen'] | join %}", ["popen", "subprocess"]),
    ],
)
def test_every_spelling_is_found(source: str, found: list[str]) -> None:
    assert [what for what, _ in internals(environment().parse(source))] == found


@pytest.mark.parametrize(
    "source",
    [
        "{{ cycler('a', 'b').next() }}",
        "{{ joiner(', ')() }}",
        "{{ '__media__' }}{{ '__sentinel__' }}",  # two real templates print these
        "{{ system }}{{ message.system }}{{ message['system'] }}{{ open }}",
        "{% macro compile(x) %}{% endmacro %}{{ compile(1) }}{{ 'a system call' }}",
        "{% set vars = cycler('a') %}{{ vars() }}",
        "{{ messages | map(attribute='content') | list }}",
        "{# ''.__class__ #}",
        "{% raw %}{{ ''.__class__ }}{% endraw %}",
        "a text about __class__ that is only printed",
    ],
)
def test_what_leads_nowhere_is_not_reported(source: str) -> None:
    assert internals(environment().parse(source)) == ()


def test_the_line_is_the_first_one() -> None:
    source = "{{ x }}\n{{ x.__class__ }}\n{{ x.__class__ }}{{ x.__mro__ }}"
    assert internals(environment().parse(source)) == (("__class__", 2), ("__mro__", 3))


def test_strings_that_are_joined_of_many_others_do_not_take_long() -> None:
    names = [f"a{number}" for number in range(12)]
    source = "".join(
        f"{{% set {one} = [{', '.join([other] * 10)}] | join %}}" for one, other in itertools.pairwise(names)
    )
    began = process_time()
    assert internals(environment().parse(source + "{% set a11 = '' %}{{ x.__class__ }}")) == (("__class__", 1),)
    assert process_time() - began < 5  # without a memory of what is known: hours


def test_a_constant_that_would_be_very_long_is_not_built() -> None:
    assert internals(environment().parse("{{ x['a' * 400 * 400 * 400] }}")) == ()


def test_a_constant_passed_through_many_variables_is_still_read() -> None:
    chain = "".join(f"{{% set a{number} = a{number + 1} ~ '' %}}" for number in range(40))
    assert internals(environment().parse(chain + "{% set a40 = '__cl' %}{{ x[a0 ~ 'ass__'] }}")) == (("__class__", 1),)


def test_a_variable_that_is_set_to_a_part_of_itself_ends() -> None:
    assert internals(environment().parse("{% set a = a ~ a ~ a %}{{ x[a] }}")) == ()
