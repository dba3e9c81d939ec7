"""What the probes of branches check, and what they do not report: each test fails without one condition in
`toolfmt/inspect/sections/branches`.
"""

from __future__ import annotations

import pytest
from inspection_templates import label
from lying_templates import ARGUMENTS, CALLS, HONEST, ONE_TOOL, branch_findings, messages_of

from toolfmt.inspect.inspection import inspect_template


def test_a_long_row_of_messages_ends_with_a_question() -> None:
    """As the short one does: the text that a template writes after a response does not depend on the number of
    responses.
    """
    suffix = "{%- if messages[-1].role == 'assistant' %}{{- '\\nGo on with it.\\n' }}{%- endif %}"
    for number in (7, 8):
        counts = "{%- if messages | length > NUMBER %}{%- endif %}".replace("NUMBER", str(number))
        assert messages_of(counts + HONEST + suffix) == []


def test_lost_second_calls_are_reported_elsewhere() -> None:
    """TF019 reports lost second calls, however many there are; a condition on their number is reported as not reached
    by a probe.
    """
    first = HONEST.replace("message.tool_calls or []", "(message.tool_calls or [])[:1]")
    assert first != HONEST
    counts = "{%- for message in messages %}{%- if (message.tool_calls or []) | length > 3 %}{%- endif %}{%- endfor %}"
    found = branch_findings(inspect_template(counts + first))
    assert [(label(one), one.line) for one in found] == [("TF085", 1)]


def test_a_rejected_id_is_reported_elsewhere() -> None:
    """TF029 reports which ids a template accepts; for a text in an id only its effect is reported."""
    for then, number in (("{{- raise_exception('no') }}", 0), ("{{- 'An id of mine.\\n' }}", 1)):
        condition = CALLS + "{%- if call.id == 'q7Zk2Wx' %}" + then + "{%- endif %}"
        assert len(messages_of(HONEST.replace(CALLS, condition))) == number


def test_another_way_to_write_an_argument_is_no_branch() -> None:
    """A value that contains the text is written differently; only the effect on other texts is reported."""
    plum = "'plum' in (call.function.arguments.values() | join)"
    for written, number in ((f"'(' ~ {ARGUMENTS} ~ ')'", 0), ("'{}'", 1)):
        conditional = f"({written} if {plum} else {ARGUMENTS})"
        assert len(messages_of(HONEST.replace(ARGUMENTS, conditional))) == number


def test_the_reported_line_is_that_of_the_condition_that_decides() -> None:
    """Not for a condition that is evaluated only then, even if it comes before."""
    shows = "{%- macro more() %}\n{%- if strftime_now('%Y') | int > 2000 %}\n{{- 'No tools today.' }}\n{%- endif %}\n"
    condition = "{%- endmacro %}\n{%- if strftime_now('%A') == 'Friday' %}{{ more() }}{%- endif %}\n"
    (clock,) = [
        one
        for one in branch_findings(inspect_template(shows + condition + HONEST))
        if label(one) == "clock-decides-branch"
    ]
    assert clock.line == 6


PARAMETERS = "{% for name, p in f.parameters.properties.items() EACH %} {{ name }}: {{ p.type }} ABOUT;{% endfor %}"
EVERY = PARAMETERS.replace("EACH", "").replace("ABOUT", "{{ p.description }}")
ALL_BUT_TYPE = PARAMETERS.replace("EACH", "if name != 'type'").replace("ABOUT", "{{ p.description }}")
TYPE_DESCRIBED = PARAMETERS.replace("EACH", "").replace("ABOUT", "{{ p.description if name == 'type' }}")
NO_TYPE = f"({ARGUMENTS} if 'type' not in call.function.arguments else '{{}}')"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("shown", "arguments", "stated"),
    [
        ("{{ f.description }}" + ALL_BUT_TYPE, ARGUMENTS, True),
        # `render` states nothing in a description that is not shown.
        (ALL_BUT_TYPE, ARGUMENTS, False),
        # Here a tool's name removes parameters too.
        ("{{ f.description }}" + ALL_BUT_TYPE.replace("'type'", "'type' and f.name != 'stat'"), ARGUMENTS, False),
        # This name shows more than any other, and this one removes an argument of a call from the prompt.
        ("{{ f.description }}" + TYPE_DESCRIBED, ARGUMENTS, False),
        ("{{ f.description }}" + EVERY, NO_TYPE, False),
    ],
)
def test_render_is_named_if_it_states_the_parameter_that_a_name_takes_out(
    shown: str, arguments: str, stated: bool
) -> None:
    tools = "{%- for tool in tools %}{% set f = tool.function %}{{ '\\n' ~ f.name }}: " + shown + "{% endfor %}"
    template = HONEST.replace(ONE_TOOL, tools).replace(ARGUMENTS, arguments)
    (finding,) = [one for one in branch_findings(inspect_template(template)) if label(one) == "TF086"]
    fix = "Give it another name; `toolfmt render` states such a parameter in the tool's description."
    assert (finding.fix == fix, finding.fixed_by) == (stated, "render" if stated else "request")
